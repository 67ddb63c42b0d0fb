package stream

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// MaxPending is how many changed errors wait for a listener, and how many other things. Of
// one who reads more slowly than they come, all are dropped, and it is told so.
const MaxPending = 500

// Listener is somebody who hears of changes, with a mailbox that stays small: an error
// that changes twice before it is read is in it once, and only the last counts are.
type Listener struct {
	watcher *Watcher
	eyes    Eyes
	ready   chan struct{}

	mu      sync.Mutex
	changed map[recoup.ID]wire.Changed
	objects map[wire.ChangedObject]bool
	counts  []recoup.StateCount
	lost    bool
}

// Eyes are what a listener may see.
type Eyes struct {
	Table  func(name string) bool        // the errors of a table
	Object func(thing store.Moving) bool // anything else
}

// Batch is what a listener has not read yet.
type Batch struct {
	Changed []wire.Changed       // by their ids
	Objects []wire.ChangedObject // by kind and id
	Counts  []recoup.StateCount  // all of those that it may see; nil: they are as before
	Lost    bool                 // changes were dropped: what is shown must be read again
}

func newListener(w *Watcher, eyes Eyes) *Listener {
	return &Listener{watcher: w, eyes: eyes, ready: make(chan struct{}, 1), changed: map[recoup.ID]wire.Changed{}, objects: map[wire.ChangedObject]bool{}}
}

// Ready holds something once there is news.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Close ends the listener.
func (l *Listener) Close() {
	l.watcher.mu.Lock()
	defer l.watcher.mu.Unlock()
	delete(l.watcher.listeners, l)
}

// Take empties the mailbox.
func (l *Listener) Take() Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := Batch{Counts: l.counts, Lost: l.lost}
	for _, c := range l.changed {
		b.Changed = append(b.Changed, c)
	}
	slices.SortFunc(b.Changed, func(a, b wire.Changed) int { return bytes.Compare(a.ErrorID[:], b.ErrorID[:]) })
	b.Objects = slices.SortedFunc(maps.Keys(l.objects), func(a, b wire.ChangedObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.ID[:], b.ID[:]))
	})
	l.empty()
	l.counts, l.lost = nil, false
	return b
}

// deliver puts news into the mailbox. It never waits.
func (l *Listener) deliver(n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := false
	for _, c := range n.changed {
		if !l.eyes.Table(c.Table) {
			continue
		}
		fresh = true
		if l.changed[c.ErrorID] = c; len(l.changed) > MaxPending {
			l.lose()
		}
	}
	for _, m := range n.moved {
		if !l.eyes.Object(m) {
			continue
		}
		fresh = true
		if l.objects[m.ChangedObject] = true; len(l.objects) > MaxPending {
			l.lose()
		}
	}
	if n.lost {
		fresh = true
		l.lose()
	}
	if n.counted {
		l.counts = l.visible(n.counts)
		fresh = true
	}
	if fresh {
		select {
		case l.ready <- struct{}{}:
		default: // it knows already
		}
	}
}

// lose drops what has changed, and remembers that there was more.
func (l *Listener) lose() {
	l.lost = true
	l.empty()
}

func (l *Listener) empty() {
	clear(l.changed)
	clear(l.objects)
}

// visible are the counts of the tables that the listener may see.
func (l *Listener) visible(all []recoup.StateCount) []recoup.StateCount {
	counts := make([]recoup.StateCount, 0, len(all))
	for _, n := range all {
		if l.eyes.Table(n.Table) {
			counts = append(counts, n)
		}
	}
	return counts
}
