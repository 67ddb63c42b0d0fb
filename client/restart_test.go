package client_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// copySpool is what a process that is killed now leaves behind.
func copySpool(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// A process that is stopped or killed while the server is away loses nothing
// that was spooled; the next one sends it first, with the same ids and times.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			l := newLedger()
			l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), always)
			o := client.EmitterOptions{Client: bubble(t, l), Spool: dir, Batch: 10}
			m := start(t, o)
			emit(m, 25)
			time.Sleep(2 * time.Second) // all are in the spool
			if killed {
				o.Spool = copySpool(t, dir)
			}
			var undelivered *client.UndeliveredError
			if err := shut(t, m); !errors.As(err, &undelivered) || undelivered.Events != 25 || !undelivered.Spooled {
				t.Errorf("got %v", err)
			}

			l.fail = nil
			next := start(t, o)
			emit(next, 1)
			if err := shut(t, next); err != nil || len(l.events) != 26 {
				t.Errorf("killed %t: %v: %d events", killed, err, len(l.events))
			}
			delivered := map[recoup.ID]time.Time{}
			for _, e := range l.events {
				delivered[e.ID] = e.TS
			}
			for _, e := range l.requests[0].events { // of the first process
				if at, ok := delivered[e.ID]; !ok || !at.Equal(e.TS) {
					t.Errorf("%s of %v is there as of %v", e.ID, e.TS, at)
				}
			}
			if s := next.Stats(); s.Delivered != 26 || s.Waiting != 0 {
				t.Errorf("stats are %+v", s)
			}
			if left, _ := filepath.Glob(filepath.Join(o.Spool, "*.spool")); len(left) != 0 {
				t.Errorf("left in the spool: %v", left)
			}
		})
	}
}

// A process that is killed after the server has events, and before it forgot
// them, sends them again: the same ones.
func TestKilledAfterDelivery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), from(1))
		o := client.EmitterOptions{Client: bubble(t, l), Spool: dir}
		m := start(t, o)
		emit(m, 5)
		time.Sleep(1500 * time.Millisecond)
		o.Spool = copySpool(t, dir)
		if err := shut(t, m); err != nil || len(l.events) != 5 {
			t.Errorf("%v: %d events", err, len(l.events))
		}
		before := slices.Sorted(maps.Keys(ids(l)))
		if err := shut(t, start(t, o)); err != nil || len(l.requests) != 3 {
			t.Errorf("%v: %d requests", err, len(l.requests))
		}
		if after := slices.Sorted(maps.Keys(ids(l))); !slices.Equal(before, after) {
			t.Errorf("became %v", after)
		}
	})
}

func ids(l *ledger) map[string]bool {
	set := map[string]bool{}
	for id := range l.events {
		set[id.String()] = true
	}
	return set
}

// The spool is bounded, and lets memory go on when the disk fails.
func TestSpoolTrouble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), always)
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Spool: dir, SpoolBytes: 4000, Batch: 5})
		for range 10 {
			emit(m, 5)
			time.Sleep(time.Second)
		}
		s := m.Stats()
		if s.Dropped == 0 || s.Waiting == 0 || s.Dropped+s.Waiting != 50 {
			t.Errorf("stats are %+v", s)
		}
		if err := shut(t, m); err == nil {
			t.Error("everything was delivered")
		}
		var size int64
		for _, path := range []string{"*.spool"} {
			files, _ := filepath.Glob(filepath.Join(dir, path))
			for _, file := range files {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				size += info.Size()
			}
		}
		if size > 4000 || size < 2000 {
			t.Errorf("the spool has %d bytes", size)
		}
	})

	gone := filepath.Join(t.TempDir(), "gone")
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Spool: gone})
		if err := os.RemoveAll(gone); err != nil { // no segment can be made any more
			t.Fatal(err)
		}
		emit(m, 5)
		if err := shut(t, m); err != nil || len(l.events) != 5 {
			t.Errorf("%v: %d events", err, len(l.events))
		}
	})
}

// Segments that vanish are counted, and do not stop the rest.
func TestSpoolLosesAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), from(1))
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Spool: dir, SpoolBytes: 4000, Batch: 5})
		emit(m, 5)
		synctest.Wait()
		emit(m, 5)
		time.Sleep(100 * time.Millisecond)
		files, _ := filepath.Glob(filepath.Join(dir, "*.spool"))
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		emit(m, 5)
		if err := shut(t, m); err != nil {
			t.Error(err)
		}
		if s := m.Stats(); s.Dropped == 0 || s.Dropped+s.Delivered != 15 || s.Waiting != 0 {
			t.Errorf("stats are %+v", s)
		}
	})
}
