// Command release writes what a release has beside its binaries: the manual, from the
// commands themselves, the list of what is in a binary, from the binary itself, and the
// licences of what is in all of them. scripts/release runs it.
//
// It also makes the Go modules of a release from the tree: as a module proxy in a folder, which
// scripts/published uses, or by changing go.mod of the server, for scripts/prepare-release.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/recoup-dev/recoup/server/internal/cli"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == "man":
		return writeManual(args[1], args[2])
	case len(args) == 3 && args[0] == "sbom":
		return writeComponents(out, args[1], args[2])
	case len(args) >= 2 && args[0] == "licenses":
		return writeLicenses(out, args[1:])
	case len(args) == 4 && args[0] == "proxy":
		return writeProxy(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "prepare":
		return prepareRelease(args[1], args[2])
	}
	return errors.New("usage: release man FOLDER VERSION | release sbom BINARY VERSION | release licenses BINARY [BINARY] | " +
		"release proxy TREE FOLDER VERSION | release prepare TREE VERSION")
}

// writeManual writes a page for the program and for each of its commands.
func writeManual(folder, version string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, cmd := range all(cli.Root(cli.Streams{Out: io.Discard, Err: io.Discard})) {
		name := filepath.Join(folder, pageName(cmd)+".1")
		if err := os.WriteFile(name, []byte(page(cmd, version)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeComponents writes what a binary was made of.
func writeComponents(out io.Writer, binary, version string) error {
	build, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	to := json.NewEncoder(out)
	to.SetIndent("", "  ")
	return to.Encode(components(build, version))
}
