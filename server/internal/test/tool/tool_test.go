package tool_test

import (
	"context"
	"errors"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// TestMissing names a program that is not there: the message says how to get it.
func TestMissing(t *testing.T) {
	t.Parallel()
	_, err := tool.Path("recoup-no-such-program")
	if missing := (*tool.MissingError)(nil); !errors.As(err, &missing) || missing.Name != "recoup-no-such-program" {
		t.Errorf("got %v", err)
	}
	if out, err := tool.Command(t.Context(), "recoup-no-such-program").Output(); err == nil || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("running it says %v %s", err, out)
	}
	for want, e := range map[string]tool.MissingError{
		"the program curl is missing: run 'make setup', or install the Debian package curl":                    {Name: "curl"},
		"the program node is missing: run 'make setup'":                                                        {Name: "node"},
		"the program initdb is missing: run 'make setup', or install the Debian package postgresql, or name X": {Name: "initdb", Hint: "name X"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// TestOwnProgramsFirst looks for node where setup may have installed it, before PATH.
func TestOwnProgramsFirst(t *testing.T) {
	t.Parallel()
	root, err := tool.Root()
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.Command(context.Background(), "sh", "-c", "echo $PATH").Output()
	if want := filepath.Join(root, ".cache", "bin") + string(filepath.ListSeparator); err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("PATH is %s, %v; want %s first", out, err, want)
	}
}

// TestNothingIsInstalled reads all Go files: none runs a package manager.
func TestNothingIsInstalled(t *testing.T) {
	t.Parallel()
	root, err := tool.Root()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || path != root && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "tool_test.go"):
			return nil
		}
		files++
		for _, literal := range literals(t, path) {
			if literal == `"apt-get"` || literal == `"apt"` || literal == `"sudo"` || literal == `"npm install"` {
				t.Errorf("%s has %s: programs are installed by scripts/setup, and tests say what is missing", path, literal)
			}
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("read %d files: %v", files, err)
	}
}

// literals returns the strings of a file as they are written.
func literals(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(path, set.Base(), len(text)), text, nil, 0)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return list
		}
		if kind == token.STRING {
			list = append(list, literal)
		}
	}
}
