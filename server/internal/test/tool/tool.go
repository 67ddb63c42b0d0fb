// Package tool finds the programs that tests start. Those that scripts/setup keeps for
// this project, in .cache/bin, come before those of the machine. Tests install nothing.
package tool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// packages are the Debian packages of programs whose package has another name. None has
// a Node that is new enough, or the S3 server: setup installs those for this project.
var packages = map[string]string{"initdb": "postgresql", "postgres": "postgresql", "pg_dump": "postgresql-client", "node": "", "versitygw": ""}

// MissingError says that a program is not on this machine, and how to get it.
type MissingError struct {
	Name string
	Hint string // another way to name the program; empty: there is none
}

func (e *MissingError) Error() string {
	from := e.Name
	if other, known := packages[e.Name]; known {
		from = other
	}
	text := fmt.Sprintf("the program %s is missing: run 'make setup'", e.Name)
	if from != "" {
		text += ", or install the Debian package " + from
	}
	if e.Hint != "" {
		text += ", or " + e.Hint
	}
	return text
}

// Root is the folder of the module, also for tests of another module such as bench.
var Root = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/recoup-dev/recoup").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// search is PATH as tests use it: the project's own programs, PATH, and the folders of
// system programs, which are not in the PATH of every user.
var search = sync.OnceValues(func() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	folders := []string{filepath.Join(root, ".cache", "bin"), os.Getenv("PATH"), "/usr/sbin", "/sbin"}
	return strings.Join(folders, string(filepath.ListSeparator)), nil
})

// Path returns where a program is, or a [*MissingError].
func Path(name string) (string, error) {
	folders, err := search()
	if err != nil {
		return "", err
	}
	for _, folder := range filepath.SplitList(folders) {
		if path := filepath.Join(folder, name); folder != "" && Executable(path) {
			return path, nil
		}
	}
	return "", &MissingError{Name: name}
}

// Command runs a program with a PATH that has the project's own programs first: scripts
// name their interpreter by it. If the program is missing, running it fails and says so.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path, err := name, error(nil)
	if !strings.ContainsRune(name, filepath.Separator) {
		path, err = Path(name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	if err != nil {
		cmd.Err = err
		return cmd
	}
	folders, err := search()
	cmd.Env, cmd.Err = append(os.Environ(), "PATH="+folders), err
	return cmd
}

// Executable reports whether a path is a program.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
