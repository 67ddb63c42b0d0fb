package stream

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func change(n int, table string) wire.Changed {
	return wire.Changed{ErrorID: recoup.ID{byte(n), byte(n >> 8), 1}, Table: table, State: recoup.Parked}
}

func move(n int, of string) store.Moving {
	return store.Moving{ChangedObject: wire.ChangedObject{Kind: recoup.ReplayIDs, ID: recoup.ID{byte(n), byte(n >> 8), 1}}, Of: of}
}

func anything[T any](T) bool { return true }

// However much happens while nobody reads, a mailbox holds no more than its bound, and its
// reader is told that there was more.
func TestMailboxIsBounded(t *testing.T) {
	t.Parallel()
	w := New(Options{})
	l := newListener(w, Eyes{Table: anything[string], Object: anything[store.Moving]})
	for n := range 100 * MaxPending {
		l.deliver(news{changed: []wire.Changed{change(n, "t")}, moved: []store.Moving{move(n, "t")}, counts: []recoup.StateCount{{Table: "t", N: int64(n)}}, counted: true})
		if len(l.changed) > MaxPending || len(l.objects) > MaxPending || len(l.counts) > 1 || len(l.ready) != 1 {
			t.Fatalf("after %d changes it holds %d and %d counts", n, len(l.changed), len(l.counts))
		}
	}
	b := l.Take()
	if !b.Lost || len(b.Changed) > MaxPending || len(b.Objects) > MaxPending || b.Counts[0].N != 100*MaxPending-1 {
		t.Errorf("it tells %v, %d changes, counts %v", b.Lost, len(b.Changed), b.Counts)
	}
	if b = l.Take(); b.Lost || b.Changed != nil || b.Objects != nil || b.Counts != nil {
		t.Errorf("what was taken is there again: %+v", b)
	}
}

// An error that changes often waits once, as it was last, and what a listener may not see
// wakes nobody.
func TestMailboxFolds(t *testing.T) {
	t.Parallel()
	l := newListener(nil, Eyes{Table: func(table string) bool { return table == "mine" }, Object: func(m store.Moving) bool { return m.Of == "mine" }})
	l.deliver(news{changed: []wire.Changed{change(1, "theirs")}, moved: []store.Moving{move(1, "theirs")}})
	if len(l.ready) != 0 {
		t.Error("somebody was woken for what they may not see")
	}
	again := change(1, "mine")
	again.State = recoup.Resolved
	l.deliver(news{changed: []wire.Changed{change(1, "mine"), change(2, "mine"), again}, moved: []store.Moving{move(1, "theirs"), move(2, "mine"), move(2, "mine")}})
	if b := l.Take(); b.Lost || len(b.Changed) != 2 || b.Changed[0] != again || len(b.Objects) != 1 || b.Objects[0] != move(2, "mine").ChangedObject {
		t.Errorf("it tells %+v", b)
	}
	l.deliver(news{lost: true, changed: []wire.Changed{change(1, "mine")}})
	if b := l.Take(); !b.Lost || len(b.Changed) != 0 || len(b.Objects) != 0 {
		t.Errorf("it tells %+v", b)
	}
}

// What is new or has another mark has moved; what was only looked at again has not, and a
// first look tells of nothing.
func TestMoved(t *testing.T) {
	t.Parallel()
	with := func(n int, seen int64) store.Moving {
		m := move(n, "")
		m.Mark.N = seen
		return m
	}
	first, at := moved(nil, []store.Moving{with(1, 9), with(1, 3), with(2, 1)})
	if len(first) != 0 || len(at) != 2 {
		t.Fatalf("a first look tells of %v, and remembers %v", first, at)
	}
	second, at := moved(at, []store.Moving{with(3, 1), with(1, 9), with(1, 3), with(2, 2)})
	if want := []store.Moving{with(3, 1), with(2, 2)}; !slices.Equal(second, want) {
		t.Errorf("it tells of %v, want %v", second, want)
	}
	if third, _ := moved(at, []store.Moving{with(2, 2)}); len(third) != 0 {
		t.Errorf("what was purged is told: %v", third)
	}
}
