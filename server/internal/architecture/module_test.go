package architecture

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModulePathIsChangedEverywhere runs scripts/module-path on a copy of the tree: afterwards the
// old path is in no file, and the SDK and its tests still compile.
func TestModulePathIsChangedEverywhere(t *testing.T) {
	t.Parallel()
	const other = "example.com/team/recoup"
	copied := copyTree(t)
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = copied
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("scripts/module-path", other)
	found := 0
	err := filepath.WalkDir(copied, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), modulePath()) {
			t.Errorf("%s still has %s", strings.TrimPrefix(file, copied), modulePath())
		}
		found += strings.Count(string(text), other)
		return err
	})
	if err != nil || found < 1000 {
		t.Errorf("the new path is there %d times, expected 1000 or more: %v", found, err)
	}
	run("go", "build", "-trimpath", "./...")
	run("go", "vet", "-trimpath", "./...")
	if unformatted := run("gofmt", "-l", "."); unformatted != "" {
		t.Errorf("not formatted: %s", unformatted)
	}
	for _, wrong := range []string{"recoup", "example.com/recoups", "example.com/UPPER CASE/recoup", other + "/recoup"} {
		cmd := exec.CommandContext(t.Context(), "scripts/module-path", wrong)
		cmd.Dir = copied
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("the path %q is accepted: %s", wrong, out)
		}
	}
}

// copyTree copies what git would commit to a folder of its own.
func copyTree(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	names := slices.DeleteFunc(strings.Split(string(out), "\x00"), func(name string) bool {
		info, err := os.Lstat(filepath.Join(root, name))
		return name == "" || err != nil || !info.Mode().IsRegular()
	})
	for _, name := range names {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
