// Package golden compares what people see with files of how it looked before.
package golden

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Updating reports whether golden files are to be rewritten, for tests that compare in a
// way of their own.
func Updating() bool { return *update }

// Equal compares got with a file, which -update rewrites.
func Equal(t testing.TB, file, got string) {
	t.Helper()
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
		t.Errorf("%s has changed. Got:\n%s\nWant:\n%s\nIf the change is meant, accept it: go test -run %s -update", file, got, want, t.Name())
	}
}
