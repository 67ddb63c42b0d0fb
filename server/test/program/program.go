// Package program builds the programs recoup and recoup-bench for tests that run them as people do.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// build makes the program once for all tests of a process, unless RECOUP_PROGRAM
// names one that is built.
var build = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("RECOUP_PROGRAM"); given != "" {
		return given, nil
	}
	return goBuild("./server/cmd/recoup")
})

// buildBench makes recoup-bench once for all tests of a process.
var buildBench = sync.OnceValues(func() (string, error) { return goBuild("./server/test/cmd/recoup-bench") })

func goBuild(pkg string) (string, error) {
	folder, err := Folder()
	if err != nil {
		return "", err
	}
	root, err := tool.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, pkg)
	cmd.Dir = root // so that go.work is found
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

var made atomic.Pointer[string]

// Folder holds what a process builds for its tests, until [Main] ends.
var Folder = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "recoup-program-")
	if err == nil {
		made.Store(&folder)
	}
	return folder, err
})

// Path returns the built program.
func Path(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Bench returns the built recoup-bench.
func Bench(t testing.TB) string {
	t.Helper()
	path, err := buildBench()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs the tests of a package that uses [Path], and removes what was built. It
// is the whole TestMain of that package.
func Main(m *testing.M) {
	if os.Getenv(measured) != "" {
		measure()
		return
	}
	defer func() {
		if folder := made.Load(); folder != nil {
			_ = os.RemoveAll(*folder)
		}
	}()
	m.Run()
}
