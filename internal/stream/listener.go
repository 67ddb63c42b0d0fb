package stream

import (
	"bytes"
	"slices"
	"sync"

	"recoup"
)

// MaxPending is how many changed errors wait for a listener. Of one who reads more slowly
// than they come, all are dropped, and it is told so.
const MaxPending = 500

// Listener is somebody who hears of changes, with a mailbox that stays small: an error
// that changes twice before it is read is in it once, and only the last counts are.
type Listener struct {
	watcher *Watcher
	sees    func(table string) bool
	ready   chan struct{}

	mu      sync.Mutex
	changed map[recoup.ID]recoup.Changed
	counts  []recoup.StateCount
	lost    bool
}

// Batch is what a listener has not read yet.
type Batch struct {
	Changed []recoup.Changed    // by their ids
	Counts  []recoup.StateCount // all of those that it may see; nil: they are as before
	Lost    bool                // changes were dropped: what is shown must be read again
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
	slices.SortFunc(b.Changed, func(a, b recoup.Changed) int { return bytes.Compare(a.ErrorID[:], b.ErrorID[:]) })
	clear(l.changed)
	l.counts, l.lost = nil, false
	return b
}

// deliver puts news into the mailbox. It never waits.
func (l *Listener) deliver(n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := false
	for _, c := range n.changed {
		if !l.sees(c.Table) {
			continue
		}
		fresh = true
		if l.changed[c.ErrorID] = c; len(l.changed) > MaxPending {
			l.lost = true
			clear(l.changed)
		}
	}
	if n.lost {
		l.lost, fresh = true, true
		clear(l.changed)
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

// visible are the counts of the tables that the listener may see.
func (l *Listener) visible(all []recoup.StateCount) []recoup.StateCount {
	counts := make([]recoup.StateCount, 0, len(all))
	for _, n := range all {
		if l.sees(n.Table) {
			counts = append(counts, n)
		}
	}
	return counts
}
