package endtoend

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/test/program"
)

// A backup that is made while a server is written to has all that was acknowledged before
// it began, and restores it. A database that is open, or a file that is no backup, is left
// alone.
func TestBackup(t *testing.T) {
	t.Parallel()
	d := live.SQLite(t)
	s := newSite(t, d)
	s.start()
	var n atomic.Int64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.report(fmt.Sprintf("E-%d", n.Add(1)))
				}
			}
		})
	}
	for n.Load() < 50 {
		s.report("warm-up")
	}
	s.report("BEFORE")
	folder := t.TempDir()
	file := filepath.Join(folder, "backup.db")
	recoup := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program.Path(t), append(args, "--database", d.Nodes)...).CombinedOutput()
		return string(out), err
	}
	if out, err := recoup("backup", file); err != nil || !strings.Contains(out, "is written and checked") {
		t.Fatalf("backup: %v: %s", err, out)
	}
	if out, err := recoup("backup", file); err == nil || !strings.Contains(out, "is there already") {
		t.Errorf("a backup over another: %v: %s", err, out)
	}
	close(stop)
	writers.Wait()
	s.report("AFTER")
	if out, err := recoup("restore", file, "--yes"); err == nil || !strings.Contains(out, "another process has") {
		t.Errorf("a database that is open is replaced: %v: %s", err, out)
	}
	path := strings.TrimPrefix(d.Nodes, "sqlite:")
	beside := func(args ...string) (string, error) { // with relative paths, from the folder of the database
		cmd := exec.CommandContext(t.Context(), program.Path(t), append(args, "--database", "sqlite:"+filepath.Base(path))...)
		cmd.Dir = filepath.Dir(path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := beside("backup", "relative.db"); err != nil || !strings.Contains(out, "is written and checked") {
		t.Errorf("backup to a relative path: %v: %s", err, out)
	}
	if out, err := beside("restore", "relative.db", "--yes"); err == nil || !strings.Contains(out, "another process has") {
		t.Errorf("a database that is open is replaced: %v: %s", err, out)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Errorf("a refused restore has removed the log of an open database: %v", err)
	}
	if out, err := beside("backup", "file:relative.db?mode=memory"); err == nil || !strings.Contains(out, "is not the path of a file") {
		t.Errorf("a backup in memory: %v: %s", err, out)
	}
	s.report("LATER")
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if out, err := recoup("restore", file); err == nil || !strings.Contains(out, "--yes") {
		t.Errorf("nobody was asked: %v: %s", err, out)
	}
	damaged := filepath.Join(folder, "damaged.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged, slices.Concat(whole[:len(whole)/2], make([]byte, len(whole)-len(whole)/2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := recoup("restore", damaged, "--yes"); err == nil || !strings.Contains(out, "it is damaged") || strings.Contains(out, "%!") {
		t.Errorf("a damaged file is restored: %v: %s", err, out)
	}
	foreign := filepath.Join(folder, "foreign.db")
	if err := os.WriteFile(foreign, []byte(strings.Repeat("somebody's, and no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := recoup("restore", foreign, "--yes"); err == nil || !strings.Contains(out, "is not a backup") {
		t.Errorf("a file that is no database is restored: %v: %s", err, out)
	}
	if out, err := recoup("restore", file, "--yes"); err != nil {
		t.Fatalf("restore: %v: %s", err, out)
	}
	s.start()
	for entity, there := range map[string]bool{"BEFORE": true, "E-10": true, "AFTER": false} {
		got := s.ask(http.MethodGet, "/v1/errors?entity_id="+entity, "")
		if strings.Contains(got.body, `"`+entity+`"`) != there {
			t.Errorf("%s is there: %t: %s", entity, !there, got.body)
		}
	}
}
