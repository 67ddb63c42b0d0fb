package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// run executes a command line and returns what it printed.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	status = Run(args, Streams{In: new(bytes.Buffer), Out: &out, Err: &err})
	return out.String(), err.String(), status
}

// golden compares got with a file in testdata, which -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed. Got:\n%s\nIf that is meant, accept it: go test ./internal/cli -run %s -update", file, got, t.Name())
	}
}
