package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Committed inputs are replayed by go test, so they stay few and small.
const (
	mostInput  = 8 << 10
	mostInputs = 2 << 20
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// Every fuzz target has committed inputs that reach its code, which go test replays for
// every change. `scripts/fuzz 2m keep` adds some.
func TestFuzzTargetsHaveInputs(t *testing.T) {
	t.Parallel()
	targets, size := 0, int64(0)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range fuzzTarget.FindAllStringSubmatch(string(source), -1) {
			targets++
			inputs, err := filepath.Glob(filepath.Join(filepath.Dir(path), "testdata", "fuzz", found[1], "*"))
			if err != nil {
				return err
			}
			if len(inputs) < 3 {
				t.Errorf("%s: %s has %d committed inputs, expected 3 or more: scripts/fuzz 2m keep", path, found[1], len(inputs))
			}
			for _, input := range inputs {
				info, err := os.Stat(input)
				if err != nil {
					return err
				}
				if size += info.Size(); info.Size() > mostInput {
					t.Errorf("%s has %d bytes, at most %d are allowed", input, info.Size(), mostInput)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if targets < 17 {
		t.Errorf("%d fuzz targets were found, expected 17 or more", targets)
	}
	if size > mostInputs {
		t.Errorf("all inputs together have %d bytes, at most %d are allowed", size, mostInputs)
	}
}
