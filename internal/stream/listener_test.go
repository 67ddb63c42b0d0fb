package stream

import (
	"testing"

	"recoup"
)

func change(n int, table string) recoup.Changed {
	return recoup.Changed{ErrorID: recoup.ID{byte(n), byte(n >> 8), 1}, Table: table, State: recoup.Parked}
}

// However much happens while nobody reads, a mailbox holds no more than its bound, and its
// reader is told that there was more.
func TestMailboxIsBounded(t *testing.T) {
	t.Parallel()
	w := New(Options{})
	l := &Listener{watcher: w, sees: func(string) bool { return true }, ready: make(chan struct{}, 1), changed: map[recoup.ID]recoup.Changed{}}
	for n := range 100 * MaxPending {
		l.deliver(news{changed: []recoup.Changed{change(n, "t")}, counts: []recoup.StateCount{{Table: "t", N: int64(n)}}, counted: true})
		if len(l.changed) > MaxPending || len(l.counts) > 1 || len(l.ready) != 1 {
			t.Fatalf("after %d changes it holds %d and %d counts", n, len(l.changed), len(l.counts))
		}
	}
	b := l.Take()
	if !b.Lost || len(b.Changed) > MaxPending || b.Counts[0].N != 100*MaxPending-1 {
		t.Errorf("it tells %v, %d changes, counts %v", b.Lost, len(b.Changed), b.Counts)
	}
	if b = l.Take(); b.Lost || b.Changed != nil || b.Counts != nil {
		t.Errorf("what was taken is there again: %+v", b)
	}
}

// An error that changes often waits once, as it was last, and what a listener may not see
// wakes nobody.
func TestMailboxFolds(t *testing.T) {
	t.Parallel()
	l := &Listener{sees: func(table string) bool { return table == "mine" }, ready: make(chan struct{}, 1), changed: map[recoup.ID]recoup.Changed{}}
	l.deliver(news{changed: []recoup.Changed{change(1, "theirs")}})
	if len(l.ready) != 0 {
		t.Error("somebody was woken for what they may not see")
	}
	again := change(1, "mine")
	again.State = recoup.Resolved
	l.deliver(news{changed: []recoup.Changed{change(1, "mine"), change(2, "mine"), again}})
	if b := l.Take(); b.Lost || len(b.Changed) != 2 || b.Changed[0] != again {
		t.Errorf("it tells %+v", b)
	}
	l.deliver(news{lost: true, changed: []recoup.Changed{change(1, "mine")}})
	if b := l.Take(); !b.Lost || len(b.Changed) != 0 {
		t.Errorf("it tells %+v", b)
	}
}
