package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/archive/s3/s3test"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// places runs a test on a folder and on a bucket of a real server, each empty. The path of
// a name is the file in which the place keeps it.
func places(t *testing.T, run func(t *testing.T, fresh func() *kept)) {
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		run(t, func() *kept {
			folder := t.TempDir()
			place, err := archive.OpenPlace(archive.PlaceOptions{Address: folder})
			if err != nil {
				t.Fatal(err)
			}
			return &kept{place, func(name string) string { return filepath.Join(folder, name) }}
		})
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		server, n := s3test.Start(t, "acme"), 0
		run(t, func() *kept {
			n++
			prefix := fmt.Sprintf("days/%d", n)
			place, err := archive.OpenPlace(archive.PlaceOptions{Address: "s3://acme/" + prefix, Getenv: server.Getenv(), Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return &kept{place, func(name string) string { return server.Path("acme", prefix+"/"+name) }}
		})
	})
}

// now is the real time, by which a server judges a signature.
var now = time.Now

type kept struct {
	archive.Place
	path func(name string) string
}

// put writes a file as a filer does.
func (k *kept) put(t *testing.T, name, text string) error {
	t.Helper()
	scratch, err := k.Scratch(now())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(scratch.Close(), os.Remove(scratch.Name())) }()
	if _, err := scratch.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return k.Put(t.Context(), name, scratch)
}

// What every place does.
func TestPlace(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, fresh func() *kept) {
		k := fresh()
		for _, name := range []string{"b2", "b1", "a"} {
			if err := k.put(t, name, "text of "+name); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.put(t, "a", "text of a"); err != nil {
			t.Errorf("the same once more: %v", err)
		}
		if err := k.put(t, "a", "text of b"); !errors.Is(err, archive.ErrExists) {
			t.Errorf("another of that name: %v", err)
		}
		for begin, want := range map[string][]string{"": {"a", "b1", "b2"}, "b": {"b1", "b2"}, "c": nil} {
			if names, err := k.List(t.Context(), begin); err != nil || !slices.Equal(names, want) {
				t.Errorf("%q: %v, %v", begin, names, err)
			}
		}
		file, err := k.Open(t.Context(), "a", 9)
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 4)
		_, partly := file.ReadAt(part, 5)
		text, err := io.ReadAll(file)
		if err := errors.Join(partly, err, file.Close()); err != nil || string(text) != "text of a" || string(part) != "of a" {
			t.Errorf("%q, %q, %v", text, part, err)
		}
		if err := errors.Join(k.Remove(t.Context(), "a"), k.Remove(t.Context(), "a")); err != nil {
			t.Error(err)
		}
		_, opened := k.Open(t.Context(), "a", 9)
		if err := k.Verify(t.Context(), "a", 9, ""); !errors.Is(err, os.ErrNotExist) || !errors.Is(opened, os.ErrNotExist) {
			t.Errorf("%v, %v", err, opened)
		}
		if err := k.Verify(t.Context(), "b1", 9, "00"); !errors.Is(err, archive.ErrChecksum) {
			t.Error(err)
		}
	})
}

// stepping stops at the nth step of who uses a place: before or after it changes something.
type stepping struct {
	archive.Place
	left int
	stop func()
}

func (s *stepping) step() {
	if s.left--; s.left == 0 {
		s.stop()
	}
}

func (s *stepping) Scratch(now time.Time) (*os.File, error) {
	s.step()
	return s.Place.Scratch(now)
}

func (s *stepping) Put(ctx context.Context, name string, scratch *os.File) error {
	s.step()
	defer s.step()
	return s.Place.Put(ctx, name, scratch)
}

func (s *stepping) Remove(ctx context.Context, name string) error {
	s.step()
	defer s.step()
	return s.Place.Remove(ctx, name)
}

// node files as the clock does: the file, then the row, then older versions go.
type node struct {
	archive.Filer
	row *archive.Filed // of the database, which all nodes share
}

func (n *node) file(ctx context.Context) error {
	filed, err := n.File(ctx, day)
	if err != nil {
		return err
	}
	if filed.Version >= n.row.Version {
		*n.row = filed
	}
	return n.Tidy(ctx, day)
}

// steps is more than filing a day takes.
const steps = 12

// sound holds against each other what a place has, what the database says of it, and how
// many events must not be lost.
func sound(t *testing.T, k *kept, row *archive.Filed, least int) {
	t.Helper()
	a, err := archive.OpenArchive(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := a.Events(t.Context(), store.EventFilter{}, sqldb.Page{Limit: 100})
	if err := errors.Join(err, a.Close()); err != nil || len(list) < least {
		t.Errorf("%d events can be read, at least %d were filed: %v", len(list), least, err)
	}
	if err := k.Verify(t.Context(), row.Name, row.Bytes, row.SHA256); err != nil || row.Rows > int64(len(list)) {
		t.Errorf("the database says %d events are in %s, and %d can be read: %v", row.Rows, row.Name, len(list), err)
	}
}

// healed has a node file the day once more, and wants the newest version alone.
func healed(t *testing.T, k *kept, l *ledger, row *archive.Filed) {
	t.Helper()
	n := &node{archive.Filer{Store: l, Place: k, Now: now}, row}
	if err := n.file(t.Context()); err != nil {
		t.Fatal(err)
	}
	sound(t, k, row, len(l.events))
	names, err := k.List(t.Context(), "")
	want := []string{fmt.Sprintf("events-2026-02-05.v%d.json", row.Version), fmt.Sprintf("events-2026-02-05.v%d.parquet", row.Version)}
	if err != nil || !slices.Equal(names, want) || row.Rows != int64(len(l.events)) {
		t.Errorf("left are %v, want %v; the row says %d of %d (%v)", names, want, row.Rows, len(l.events), err)
	}
}

// A process that dies between any two steps leaves the old version or the new one, and
// the next goes over what is left.
func TestDiesAnywhere(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, fresh func() *kept) {
		died := 0
		for at := 1; at <= steps; at++ {
			k, l, row := fresh(), &ledger{}, &archive.Filed{}
			l.add(event(1, "A", day, true))
			healed(t, k, l, row)
			l.add(event(2, "B", day, true))
			func() {
				defer func() {
					if recover() != nil {
						died++
					}
				}()
				n := &node{archive.Filer{Store: l, Now: now, Place: &stepping{k, at, func() { panic("SIGKILL") }}}, row}
				if err := n.file(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			sound(t, k, row, 1)
			l.add(event(3, "C", day, true)) // what is left is not what is written next
			healed(t, k, l, row)
		}
		if died != steps-2 {
			t.Errorf("died in %d of %d runs", died, steps)
		}
	})
}

// A leader that stood still at any step, while another began to file more events than it
// had seen, and itself stood still at any step, wakes and does no harm; nor does the other.
func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, fresh func() *kept) {
		for at := range steps {
			for until := at % 3; until <= steps; until += 3 {
				twoLeaders(t, fresh(), at+1, until+1)
			}
		}
	})
}

func twoLeaders(t *testing.T, k *kept, at, until int) {
	t.Helper()
	l, row := &ledger{}, &archive.Filed{}
	l.add(event(1, "A", day, true))
	healed(t, k, l, row)
	l.add(event(2, "B", day, true))
	stands, wakes, ended := make(chan struct{}, 2), make(chan struct{}), make(chan error, 1)
	fast := &node{archive.Filer{Store: l, Now: now, Place: &stepping{k, until, func() { stands <- struct{}{}; <-wakes }}}, row}
	begun := false
	slow := &node{archive.Filer{Store: l, Now: now, Place: &stepping{k, at, func() {
		begun = true
		l.add(event(3, "C", day, true))
		go func() { ended <- fast.file(t.Context()); stands <- struct{}{} }()
		<-stands
	}}}, row}
	err := slow.file(t.Context())
	close(wakes)
	if begun {
		err = errors.Join(ignoreExists(err), ignoreExists(<-ended))
	}
	if err != nil {
		t.Errorf("at steps %d and %d: %v", at, until, err)
	}
	sound(t, k, row, 2)
	healed(t, k, l, row)
	if t.Failed() {
		t.Fatalf("one stood still at step %d, the other at %d", at, until)
	}
}

func ignoreExists(err error) error {
	if errors.Is(err, archive.ErrExists) {
		return nil
	}
	return err
}

// A file that somebody removed or changed is written again.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, fresh func() *kept) {
		k, l, row := fresh(), &ledger{}, &archive.Filed{}
		l.add(event(1, "A", day, true))
		healed(t, k, l, row)
		if err := k.Remove(t.Context(), row.Name); err != nil {
			t.Fatal(err)
		}
		healed(t, k, l, row)
		if err := errors.Join(k.Remove(t.Context(), row.Name), k.put(t, row.Name, "something else")); err != nil {
			t.Fatal(err)
		}
		healed(t, k, l, row)
		if row.Version != 3 {
			t.Errorf("it is version %d", row.Version)
		}
	})
}

// An archive finds the version that replaced the one it has listed.
func TestReplacedWhileRead(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, fresh func() *kept) {
		k, l, row := fresh(), &ledger{}, &archive.Filed{}
		l.add(event(1, "A", day, true))
		healed(t, k, l, row)
		a, err := archive.OpenArchive(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		l.add(event(2, "B", day, true))
		healed(t, k, l, row)
		list, _, err := a.Events(t.Context(), store.EventFilter{}, sqldb.Page{})
		if err := errors.Join(err, a.Close()); err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// A year and a half has more names than a store lists at once.
func TestManyDays(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, fresh func() *kept) {
		k, l := fresh(), &ledger{}
		const days = 510
		for i := range days {
			l.add(event(i, "A", day.AddDate(0, 0, i), false))
		}
		f := &archive.Filer{Store: l, Place: k, Now: now}
		for i := range days {
			if _, err := f.File(t.Context(), day.AddDate(0, 0, i)); err != nil {
				t.Fatal(err)
			}
		}
		a, err := archive.OpenArchive(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		count := func(from, to time.Time) int {
			list, _, err := a.Events(t.Context(), store.EventFilter{From: from, To: to}, sqldb.Page{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		if all, some := count(time.Time{}, time.Time{}), count(day.AddDate(0, 0, 500), day.AddDate(0, 0, 503)); all != days || some != 3 {
			t.Errorf("%d and %d events", all, some)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}
