package sqlite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
)

// served is the order in which verbs ran, and after which of them a commit came.
type served struct {
	s     *Store
	order []string
}

// verb writes so many rows on behalf of a key and notes when.
func (r *served) verb(key byte, name string, rows int) *task {
	return &task{party: party{key: recoup.ID{key}}, outcome: make(chan error, 1), run: func(tx *tx) error {
		r.order = append(r.order, fmt.Sprintf("%s@%d", name, r.s.writer.commits))
		for i := range rows {
			if err := note(tx, fmt.Sprintf("%s-%d", name, i)); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (r *served) all(t *testing.T, tasks ...*task) {
	t.Helper()
	release := r.s.hold(t)
	for _, task := range tasks {
		if err := r.s.writer.queue.put(task); err != nil {
			t.Fatal(err)
		}
	}
	release()
	for _, task := range tasks {
		if err := <-task.outcome; err != nil {
			t.Error(err)
		}
	}
}

// Large batches of one key, which were submitted first, do not delay the small verbs of others by
// more than one batch, and no small verb has to wait for the commit of a batch that is known to be
// large.
func TestSmallVerbsPassBatches(t *testing.T) {
	t.Parallel()
	r := served{s: newTestStore(t)}
	r.all(t, r.verb(1, "A", maxWork), r.verb(1, "B", maxWork), r.verb(1, "C", maxWork),
		r.verb(2, "x", 1), r.verb(3, "y", 1), r.verb(2, "z", 1))
	if want := []string{"A@1", "x@2", "y@2", "z@2", "B@3", "C@4"}; !slices.Equal(r.order, want) {
		t.Errorf("the verbs ran in the order %v, want %v: each with the number of commits before it", r.order, want)
	}
}

// A long line of small verbs does not keep a batch waiting for ever: it is served as soon as
// others have had as much.
func TestBatchesAreServed(t *testing.T) {
	t.Parallel()
	r := served{s: newTestStore(t)}
	tasks := []*task{r.verb(1, "A", 100), r.verb(1, "B", 100)}
	for i := range 200 {
		tasks = append(tasks, r.verb(2, fmt.Sprint("s", i), 1))
	}
	r.all(t, tasks...)
	first := slices.IndexFunc(r.order, func(s string) bool { return s[0] == 'B' })
	if first < 90 || first > 110 {
		t.Errorf("the second batch ran as number %d of %d", first, len(r.order))
	}
}

// A verb whose caller has given up takes no turn, and leaves nothing behind.
func TestGivenUpVerbsLeaveTheQueue(t *testing.T) {
	t.Parallel()
	r := served{s: newTestStore(t)}
	gone := r.verb(1, "gone", 1)
	gone.begun.Store(true)
	gone.outcome <- nil
	r.all(t, gone, r.verb(2, "x", 1))
	if want := []string{"x@1"}; !slices.Equal(r.order, want) {
		t.Errorf("ran %v, want %v", r.order, want)
	}
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(r.s.writer.queue.flows); n != 0 {
		t.Errorf("%d flows are left", n)
	}
}
