package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

func newTestStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "recoup.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// note writes a row that tests can count.
func note(tx *tx, name string) error {
	return tx.exec(`insert into entity_streak (family, entity_id, count) values ('test', ?, 1)`, name)
}

func (s *Store) notes(t *testing.T) string {
	t.Helper()
	names, err := query(t.Context(), s, func(name *string) []any { return []any{name} },
		`select entity_id from entity_streak order by entity_id`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// hold occupies the writer until the returned function is called.
func (s *Store) hold(t *testing.T) (release func()) {
	t.Helper()
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		left <- s.writer.do(context.Background(), func(*tx) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	return func() {
		close(leave)
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
}

// queue submits verbs in order while the writer is held, so that they form one
// group, and returns what each is answered with.
func (s *Store) queue(t *testing.T, verbs ...func(*tx) error) []error {
	t.Helper()
	release := s.hold(t)
	tasks := make([]*task, len(verbs))
	for i, run := range verbs {
		tasks[i] = &task{run: run, outcome: make(chan error, 1)}
		if err := s.writer.queue.put(tasks[i]); err != nil {
			t.Fatal(err)
		}
	}
	release()
	answers := make([]error, len(tasks))
	for i, task := range tasks {
		answers[i] = <-task.outcome
	}
	return answers
}

func TestOneThatFailsTakesNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	boom := errors.New("boom")
	answers := s.queue(t,
		func(tx *tx) error { return note(tx, "a") },
		func(tx *tx) error { return errors.Join(note(tx, "b"), boom) },
		func(tx *tx) error { return errors.Join(note(tx, "c"), note(tx, "c")) }, // a key twice
		func(tx *tx) error {
			if err := note(tx, "d"); err != nil {
				return err
			}
			panic("oh")
		},
		func(tx *tx) error { return note(tx, "e") },
	)
	for i, want := range []bool{true, false, false, false, true} {
		if got := answers[i] == nil; got != want {
			t.Errorf("verb %d was answered with %v", i, answers[i])
		}
	}
	if !errors.Is(answers[1], boom) || !strings.Contains(fmt.Sprint(answers[3]), "oh") {
		t.Errorf("answers: %v", answers)
	}
	if got := s.notes(t); got != "a e" {
		t.Errorf("committed: %s", got)
	}
}

// The same holds for a verb that is alone.
func TestOneThatFailsAloneLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, run := range []func(*tx) error{
		func(tx *tx) error { return errors.Join(note(tx, "a"), errors.New("boom")) },
		func(tx *tx) error { return errors.Join(note(tx, "b"), note(tx, "b")) },
		func(tx *tx) error { panic(note(tx, "c")) },
	} {
		if err := s.writer.do(t.Context(), run); err == nil {
			t.Error("it was said to have succeeded")
		}
	}
	if err := s.writer.do(t.Context(), func(tx *tx) error { return note(tx, "d") }); err != nil {
		t.Error(err)
	}
	if got := s.notes(t); got != "d" {
		t.Errorf("committed: %s", got)
	}
}

// Verbs that wait together are committed together: as one they see what came
// before, and readers see all or none.
func TestVerbsThatWaitShareACommit(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	before := s.writer.commits
	var seen string
	verbs := make([]func(*tx) error, maxGroup)
	for i := range verbs {
		verbs[i] = func(tx *tx) error { return note(tx, fmt.Sprintf("%03d", i)) }
	}
	verbs[maxGroup-1] = func(*tx) error {
		seen = s.notes(t)
		return nil
	}
	for _, err := range s.queue(t, verbs...) {
		if err != nil {
			t.Error(err)
		}
	}
	if seen != "" {
		t.Errorf("a reader saw %s before the commit", seen)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.writer.commits - before; n != 2 { // the one that held the writer, and theirs
		t.Errorf("%d commits", n)
	}
}

// If the transaction is lost, all of the group get its error.
func TestAllLearnOfALostTransaction(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	answers := s.queue(t,
		func(tx *tx) error { return note(tx, "a") },
		func(tx *tx) error { return note(tx, "b") },
		func(tx *tx) error { return errors.Join(tx.exec(`rollback`), errors.New("boom")) },
	)
	for i, err := range answers {
		if err == nil {
			t.Errorf("verb %d was said to be committed", i)
		}
	}
	if err := s.writer.do(t.Context(), func(tx *tx) error { return note(tx, "c") }); err != nil {
		t.Error(err)
	}
	if got := s.notes(t); got != "c" {
		t.Errorf("committed: %s", got)
	}
}

func TestContextEndsWaitingButNotRunning(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	release := s.hold(t)
	waiting, cancelWaiting := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() { answered <- s.writer.do(waiting, func(tx *tx) error { return note(tx, "waiting") }) }()
	for s.writer.queue.empty() { // until it has its place in the queue
		runtime.Gosched()
	}
	cancelWaiting()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	release()

	running, cancelRunning := context.WithCancel(t.Context())
	err := s.writer.do(running, func(tx *tx) error {
		cancelRunning()
		return note(tx, "running")
	})
	if err != nil {
		t.Errorf("running: %v", err)
	}
	if err := s.writer.do(running, func(tx *tx) error { return note(tx, "ended") }); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
	if got := s.notes(t); got != "running" {
		t.Errorf("committed: %s", got)
	}
}

func TestCloseDrains(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	path := s.path(t)
	release := s.hold(t)
	var tasks []*task
	for i := range 10 {
		task := &task{run: func(tx *tx) error { return note(tx, fmt.Sprint(i)) }, outcome: make(chan error, 1)}
		if err := s.writer.queue.put(task); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	var wg sync.WaitGroup
	for range 3 { // closing twice is closing once
		wg.Go(func() {
			if err := s.writer.close(); err != nil {
				t.Error(err)
			}
		})
	}
	release()
	wg.Wait()
	for _, task := range tasks {
		if err := <-task.outcome; err != nil {
			t.Error(err)
		}
	}
	if err := s.writer.do(t.Context(), func(*tx) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("after closing: %v", err)
	}
	again, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	if got := again.notes(t); got != "0 1 2 3 4 5 6 7 8 9" {
		t.Errorf("kept: %s", got)
	}
}

func (s *Store) path(t *testing.T) (path string) {
	t.Helper()
	if err := s.read.QueryRow(`select file from pragma_database_list where name = 'main'`).Scan(&path); err != nil {
		t.Fatal(err)
	}
	return path
}

// While another process writes, verbs wait, then return a busy error.
func TestBusy(t *testing.T) {
	t.Parallel()
	first := newTestStore(t)
	second, err := Open(t.Context(), first.path(t), Options{Busy: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	release := first.hold(t)
	if err := second.writer.do(t.Context(), func(tx *tx) error { return note(tx, "a") }); !errors.Is(err, store.ErrBusy) {
		t.Errorf("got %v", err)
	}
	release()
	if err := second.writer.do(t.Context(), func(tx *tx) error { return note(tx, "b") }); err != nil {
		t.Error(err)
	}
	if got := first.notes(t); got != "b" {
		t.Errorf("committed: %s", got)
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	got := map[string]string{}
	err := s.writer.do(t.Context(), func(tx *tx) error {
		for _, name := range []string{"journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "busy_timeout", "temp_store"} {
			var value string
			if err := tx.row(`pragma ` + name).Scan(&value); err != nil {
				return err
			}
			got[name] = value
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "recursive_triggers": "1", "busy_timeout": "5000", "temp_store": "2",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if _, err := s.read.Exec(`delete from entity_streak`); err == nil {
		t.Error("a reader can write")
	}
}

// A log that has grown too long is cut, as soon as no reader needs it.
func TestLogIsCut(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	s.writer.logLimit = 50
	path := s.path(t)
	write := func(name string, commits int) {
		for i := range commits {
			if err := s.writer.do(t.Context(), func(tx *tx) error { return note(tx, fmt.Sprint(name, i)) }); err != nil {
				t.Fatal(err)
			}
		}
		// What follows a verb is over when the next one is answered.
		if err := s.writer.do(t.Context(), func(*tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	pinned, err := s.read.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := pinned.QueryRow(`select count(*) from entity_streak`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	write("pinned", checkpointEvery)
	if size := logSize(t, path); size < 50*4096 {
		t.Errorf("the log has %d bytes while a reader needs them", size)
	}
	if err := pinned.Rollback(); err != nil {
		t.Fatal(err)
	}
	write("free", checkpointEvery-1)
	if size := logSize(t, path); size != 0 {
		t.Errorf("the log has %d bytes, want none", size)
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
