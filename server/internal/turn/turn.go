// Package turn shares the processors between callers. Work that a caller can make expensive,
// such as redacting text, is done in turns: a few at once, and the callers that wait are served
// one after the other, however many requests each of them has.
package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

// slice is how long a turn lasts while others wait.
const slice = time.Millisecond

// ErrUnfinished is wrapped, together with the error of the context, by every error about a context
// that ended before its work was done.
var ErrUnfinished = errors.New("turn: the context ended before the work was done")

func unfinished(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	return nil
}

// Turns hands out turns.
type Turns struct {
	now     func() time.Time
	mu      sync.Mutex
	free    int
	most    int                           // that one caller holds; 0: all
	held    map[recoup.ID]int             // by caller
	waiting map[recoup.ID][]chan struct{} // by caller
	order   []recoup.ID                   // in which callers are served next
}

// New returns turns of which n are taken at once.
func New(n int, now func() time.Time) *Turns {
	return &Turns{now: now, free: n, waiting: map[recoup.ID][]chan struct{}{}, held: map[recoup.ID]int{}}
}

// NewShared returns turns of which n are taken at once, and of which one caller holds at most n-1. If n
// is 1, the only turn goes from caller to caller.
func NewShared(n int, now func() time.Time) *Turns {
	t := New(n, now)
	t.most = max(1, n-1)
	return t
}

// mayTake reports whether a caller holds less than it may.
func (t *Turns) mayTake(caller recoup.ID) bool { return t.most == 0 || t.held[caller] < t.most }

func (t *Turns) take(ctx context.Context, caller recoup.ID) error {
	t.mu.Lock()
	if t.free > 0 && t.mayTake(caller) {
		t.free--
		t.held[caller]++
		t.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	if len(t.waiting[caller]) == 0 {
		t.order = append(t.order, caller)
	}
	t.waiting[caller] = append(t.waiting[caller], ready)
	t.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		t.leave(caller, ready)
		return unfinished(ctx)
	}
}

// leave takes back a request for a turn, or passes the turn on if it has been given meanwhile.
func (t *Turns) leave(caller recoup.ID, ready chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting[caller] {
		if other == ready {
			t.remove(caller, i)
			return
		}
	}
	t.pass(caller)
}

// remove takes the i-th request of a caller out of the queue, and the caller if it was the last.
func (t *Turns) remove(caller recoup.ID, i int) {
	queue := t.waiting[caller]
	if len(queue) > 1 {
		t.waiting[caller] = append(queue[:i], queue[i+1:]...)
		return
	}
	delete(t.waiting, caller)
	for k, other := range t.order {
		if other == caller {
			t.order = append(t.order[:k], t.order[k+1:]...)
			return
		}
	}
}

// pass takes a turn from a caller and gives it to the next that may have it, who then goes to the end
// of the queue.
func (t *Turns) pass(from recoup.ID) {
	if t.held[from]--; t.held[from] <= 0 {
		delete(t.held, from)
	}
	i := slices.IndexFunc(t.order, t.mayTake)
	if i < 0 {
		t.free++
		return
	}
	next := t.order[i]
	t.held[next]++
	ready := t.waiting[next][0]
	t.remove(next, 0)
	if len(t.waiting[next]) > 0 {
		t.order = append(slices.Delete(t.order, i, i+1), next)
	}
	close(ready)
}

func (t *Turns) give(caller recoup.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass(caller)
}

func (t *Turns) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.order) > 0
}

type key struct{}

type share struct {
	turns  *Turns
	caller recoup.ID
}

// With returns a context whose work is done in turns, on behalf of a caller.
func With(ctx context.Context, turns *Turns, caller recoup.ID) context.Context {
	return context.WithValue(ctx, key{}, share{turns, caller})
}

// CallerOf returns on whose behalf the work of a context is done, if With has said so.
func CallerOf(ctx context.Context) (caller recoup.ID, known bool) {
	s, known := ctx.Value(key{}).(share)
	return s.caller, known
}

// turn is held while work is done. The nil turn belongs to a context without turns.
type turn struct {
	share
	since time.Time
	given bool // back
}

// Each does n pieces of work in the context's turns, if it has any, and stops at the first error.
func Each(ctx context.Context, n int, do func(i int) error) error {
	t, err := begin(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	for i := range n {
		if err := t.next(ctx); err != nil {
			return err
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// begin waits for a turn, if the context has turns. end gives it back.
func begin(ctx context.Context) (*turn, error) {
	s, ok := ctx.Value(key{}).(share)
	if !ok {
		return nil, unfinished(ctx)
	}
	if err := s.turns.take(ctx, s.caller); err != nil {
		return nil, err
	}
	return &turn{share: s, since: s.turns.now()}, nil
}

// next is called before each piece of work: it lets others go first if the turn has lasted long
// enough.
func (t *turn) next(ctx context.Context) error {
	if err := unfinished(ctx); t == nil || err != nil {
		return err
	}
	if t.turns.now().Sub(t.since) < slice || !t.turns.wanted() {
		return nil
	}
	t.end()
	if err := t.turns.take(ctx, t.caller); err != nil {
		return err
	}
	t.since, t.given = t.turns.now(), false
	return nil
}

// end gives the turn back.
func (t *turn) end() {
	if t != nil && !t.given {
		t.turns.give(t.caller)
		t.given = true
	}
}
