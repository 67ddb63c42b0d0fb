package lease

import (
	"context"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// look is how often a claim that waits looks for what nobody announces: what falls
	// due by the clock.
	look = time.Second

	// maxLooks is how many claims look at once: fewer than the database has
	// connections.
	maxLooks = 6
)

// Waiters are long polls: claims that wait. Of those that wait for the same thing one looks at a time
// and the others stand in line, so that thousands cost the database no more than one.
type Waiters struct {
	kind     string // what wakes them, of [store.Wakes]
	notifier store.Notifier
	looks    chan struct{}
	stopped  chan struct{}
	stop     func()

	mu    sync.Mutex
	lines map[string]*line
}

// line is those who wait for the same thing.
type line struct {
	turn chan struct{} // holds one while nobody has it
	n    int
}

// NewWaiters returns an empty set of long polls, which something of a kind wakes.
func NewWaiters(kind string) *Waiters {
	q := &Waiters{kind: kind, looks: make(chan struct{}, maxLooks), stopped: make(chan struct{}), lines: map[string]*line{}}
	q.stop = sync.OnceFunc(func() { close(q.stopped) })
	return q
}

// Wake makes claims that wait look again.
func (q *Waiters) Wake() { q.notifier.Notify(q.kind) }

// StopWaiting makes claims that wait come back empty, now and from now on: the node
// stops, and their workers ask another.
func (q *Waiters) StopWaiting() { q.stop() }

// Wait is how a claim waits.
type Wait struct {
	For  string // claims of the same look one at a time
	Wait time.Duration
	Look func() (found bool, err error)
}

// Await looks at once, and as long as there is nothing, again when it is woken and
// every second. It comes back empty when the wait is over, the node stops, or ctx ends:
// then nothing was claimed, and the caller is gone.
func (q *Waiters) Await(ctx context.Context, w Wait) error {
	if found, err := q.look(ctx, &w); err != nil || found || w.Wait == 0 {
		return err
	}
	over := time.NewTimer(w.Wait)
	defer over.Stop()
	l := q.join(w.For)
	defer q.leave(w.For)
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
		return q.inTurn(ctx, &w, over.C)
	case <-over.C:
	case <-q.stopped:
	case <-ctx.Done():
	}
	return nil
}

// inTurn looks until there is something, for one whose turn it is.
func (q *Waiters) inTurn(ctx context.Context, w *Wait, over <-chan time.Time) error {
	woken := q.notifier.Subscribe()
	defer woken.Close()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if found, err := q.look(ctx, w); err != nil || found {
			return err
		}
		select {
		case <-woken.Ready():
			woken.Take()
		case <-tick.C:
		case <-over:
			return nil
		case <-q.stopped:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// look looks once there are few enough at the same time.
func (q *Waiters) look(ctx context.Context, w *Wait) (bool, error) {
	select {
	case q.looks <- struct{}{}:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { <-q.looks }()
	return w.Look()
}

func (q *Waiters) join(name string) *line {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[name]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		q.lines[name] = l
	}
	l.n++
	return l
}

func (q *Waiters) leave(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lines[name]; l.n == 1 {
		delete(q.lines, name)
	} else {
		l.n--
	}
}
