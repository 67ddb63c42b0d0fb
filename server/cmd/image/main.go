// Command image builds deploy/Dockerfile into an OCI image without an engine, and with nothing but
// the standard library: the same input gives the same bytes. scripts/release runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := buildImage(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// buildImage builds an image of the folder CONTEXT for each architecture, as an OCI archive.
func buildImage(args []string) error {
	if len(args) < 5 {
		return errors.New("usage: image DOCKERFILE CONTEXT ARCHIVE NAME:TAG ARCH [ARCH]")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	name, tag, tagged := strings.Cut(args[3], ":")
	if !tagged || name == "" || tag == "" {
		return fmt.Errorf("the image is named %q: expected NAME:TAG", args[3])
	}
	layout := newLayout()
	var platforms []descriptor
	for _, arch := range args[4:] {
		recipe, err := parse(string(text), arch)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		platform, err := layout.addImage(recipe, args[1])
		if err != nil {
			return err
		}
		platforms = append(platforms, platform)
	}
	if err := layout.addIndex(platforms, name, tag); err != nil {
		return err
	}
	archive, err := os.Create(args[2])
	if err != nil {
		return err
	}
	return errors.Join(layout.write(archive), archive.Close())
}
