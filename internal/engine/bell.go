package engine

import (
	"slices"
	"sync"

	"recoup"
	"recoup/internal/store"
)

// bell wakes everyone who waits for something to become due.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

func newBell() *bell { return &bell{ch: make(chan struct{})} }

// rung returns a channel that is closed when the bell next rings.
func (b *bell) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}

// StopWaiting makes claims that wait come back empty, now and from now on: the
// node stops, and their workers ask another.
func (e *Engine) StopWaiting() { e.stop.Do(func() { close(e.stopped) }) }

// announce rings if something was made due at once. What falls due later, those
// who wait find by the clock.
func (e *Engine) announce(outcomes []store.Outcome) {
	if slices.ContainsFunc(outcomes, func(o store.Outcome) bool {
		return o.Err == nil && !o.Repeated && o.Error.State == recoup.RetryPending && o.Error.LeaseToken.IsZero() && !o.Error.NextRetryAt.After(o.Error.UpdatedAt)
	}) {
		e.wake.ring()
	}
}

// Wake makes claims that wait for work look again.
func (e *Engine) Wake() { e.wake.ring() }
