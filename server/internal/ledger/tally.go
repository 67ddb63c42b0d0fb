package ledger

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Tally counts what was left out of the ledger, by day and reason. A [Governor]
// and a [Writer] share one; the writer brings it to the store. It is safe for
// concurrent use.
type Tally struct {
	mu        sync.Mutex
	totals    map[string]int64
	unwritten map[dropKey]int64
}

type dropKey struct {
	day    time.Time
	reason string
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{totals: map[string]int64{}, unwritten: map[dropKey]int64{}}
}

// Add counts n more on the day of now.
func (t *Tally) Add(now time.Time, reason string, n int64) {
	t.add(now, counts{reason: n})
}

// Totals returns what was counted since the tally was made, by reason.
func (t *Tally) Totals() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.totals)
}

// counts is what one batch leaves out, by reason. The nil map is empty.
type counts map[string]int64

func (c *counts) add(reason string, n int64) {
	if *c == nil {
		*c = counts{}
	}
	(*c)[reason] += n
}

func (t *Tally) add(now time.Time, more counts) {
	if len(more) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for reason, n := range more {
		t.totals[reason] += n
		t.unwritten[dropKey{store.Day(now), reason}] += n
	}
}

// take returns what no store has yet and leaves it to the caller to bring it
// there, or back.
func (t *Tally) take() []store.Drop {
	t.mu.Lock()
	defer t.mu.Unlock()
	var drops []store.Drop
	for key, n := range t.unwritten {
		drops = append(drops, store.Drop{Day: key.day, Reason: key.reason, N: n})
	}
	clear(t.unwritten)
	slices.SortFunc(drops, func(a, b store.Drop) int { return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Reason, b.Reason)) })
	return drops
}

func (t *Tally) putBack(drops []store.Drop) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range drops {
		t.unwritten[dropKey{d.Day, d.Reason}] += d.N
	}
}

// pending is how much no store has yet.
func (t *Tally) pending() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, more := range t.unwritten {
		n += more
	}
	return n
}
