package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// A database that is a symbolic link is replaced where the link leads to, with its log, and stays
// a link. The file that it leads to need not exist.
func TestRestoreThroughLinks(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	backup, volume := filepath.Join(t.TempDir(), "backup.db"), t.TempDir()
	if r := n.Direct("backup", backup); r.Status != command.ExitDone {
		t.Fatal(r.Err)
	}
	target, link, outer := filepath.Join(volume, "real.db"), filepath.Join(t.TempDir(), "link.db"), filepath.Join(t.TempDir(), "outer.db")
	for from, to := range map[string]string{link: target, outer: link} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	n.File = outer
	for _, when := range []string{"missing", "there"} {
		if r := n.Direct("restore", backup, "--yes"); r.Status != command.ExitDone {
			t.Fatalf("%s: %s", when, r.Err)
		}
		for _, path := range []string{link, outer} {
			if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s: %s is no link any more: %v, %v", when, path, info, err)
			}
		}
		if info, err := os.Lstat(target); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			t.Errorf("%s: the file that the link leads to is %v, %v", when, info, err)
		}
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outer, link); err != nil {
		t.Fatal(err)
	}
	if r := n.Direct("restore", backup, "--yes"); r.Status != command.ExitRefused || !strings.Contains(r.Err, "symbolic links") {
		t.Errorf("links in a circle: status %d: %s", r.Status, r.Err)
	}
}
