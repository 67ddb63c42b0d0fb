package endtoend

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
	"github.com/recoup-dev/recoup/server/test/program"
)

// The package that is tested is built as it is published, in a folder of its own, and
// used by its name, as by a program that depends on it.

const typeScript = "../../../clients/typescript"

// builtPackage builds the TypeScript client, its tests and the example of its README
// once for all tests of this process.
var builtPackage = sync.OnceValues(func() (string, error) {
	modules, err := filepath.Abs(filepath.Join(typeScript, "node_modules"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(modules, "typescript")); err != nil {
		return "", fmt.Errorf("the compiler of TypeScript is not installed: run make setup (%w)", err)
	}
	folder, err := program.Folder()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "typescript")
	for _, part := range []string{"src", "test", "conformance"} {
		if err := os.CopyFS(filepath.Join(folder, part), os.DirFS(filepath.Join(typeScript, part))); err != nil {
			return "", err
		}
	}
	for _, file := range []string{"package.json", "tsconfig.json", "tsconfig.build.json", "tsconfig.node.json"} {
		text, err := os.ReadFile(filepath.Join(typeScript, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), text, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	if err := writeExample(folder); err != nil {
		return "", err
	}
	if err := os.Symlink(modules, filepath.Join(folder, "node_modules")); err != nil {
		return "", err
	}
	for _, project := range []string{"tsconfig.build.json", "tsconfig.node.json", "tsconfig.json"} {
		out, err := nodeCommand(folder, "node_modules/typescript/bin/tsc", "--project", project).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("compiling %s: %w\n%s", project, err, out)
		}
	}
	return folder, nil
})

// writeExample puts the README's example among the tests, so that it is compiled too.
func writeExample(folder string) error {
	readme, err := os.ReadFile(filepath.Join(typeScript, "README.md"))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(readme), "```ts\n")
	example, _, found := strings.Cut(rest, "```\n")
	if !found {
		return errors.New("the README has no example")
	}
	return os.WriteFile(filepath.Join(folder, "test", "readme.ts"), []byte(example), 0o600)
}

// nodeCommand runs a script in the folder of the package.
func nodeCommand(folder string, args ...string) *exec.Cmd {
	cmd := tool.Command(context.Background(), "node", args...)
	cmd.Dir = folder
	return cmd
}

// startPiped starts a process that ends with its input.
func startPiped(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// typeScriptPackage returns the folder of the built package.
func typeScriptPackage(t *testing.T) string {
	t.Helper()
	folder, err := builtPackage()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// nodeDriver does the steps with the TypeScript client, in a process of Node.
type nodeDriver struct {
	*testing.T
	in    io.Writer
	lines chan nodeLine
	log   *text
}

// nodeLine is what the process says: that it waits, or how a step ended.
type nodeLine struct {
	Wait *float64 `json:"wait"`
	outcome
}

func newNodeDriver(t *testing.T, s setting) driver {
	t.Helper()
	settings, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	d := &nodeDriver{T: t, lines: make(chan nodeLine), log: &text{}}
	cmd := nodeCommand(typeScriptPackage(t), ".cache/conformance/driver.js", string(settings))
	cmd.Stderr = d.log
	in, out := startPiped(t, cmd)
	d.in = in
	go d.read(out)
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		for range d.lines {
		}
		if err := cmd.Wait(); err != nil || d.log.String() != "" {
			t.Errorf("the process ended with %v, and said %q", err, d.log)
		}
	})
	return d
}

func (d *nodeDriver) read(from io.Reader) {
	defer close(d.lines)
	for scanner := bufio.NewScanner(from); scanner.Scan(); {
		var line nodeLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			line.Error = fmt.Sprintf("not understood: %s", scanner.Text())
		}
		d.lines <- line
	}
}

func (d *nodeDriver) do(s step, wait func(ms float64)) outcome {
	d.Helper()
	s.Expect, s.Save, s.Meanwhile = nil, nil, nil
	d.say(s)
	for {
		select {
		case line, open := <-d.lines:
			if !open {
				d.Fatalf("the process has ended: %s", d.log)
			}
			if line.Wait == nil {
				return line.outcome
			}
			wait(*line.Wait)
			d.say(step{Do: "go_on"})
		case <-time.After(scenarioPatience):
			d.Fatalf("%s takes too long: %s", s.Do, d.log)
		}
	}
}

func (d *nodeDriver) say(s step) {
	d.Helper()
	if err := json.NewEncoder(d.in).Encode(s); err != nil {
		d.Fatal(err)
	}
}
