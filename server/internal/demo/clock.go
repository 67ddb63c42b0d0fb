package demo

import (
	"sync"
	"time"
)

// Clock is the clock of a demo. It stands still in the past, goes on where the month
// that is played goes on, and is the machine's once that is over.
type Clock struct {
	machine func() time.Time

	mu sync.Mutex
	at time.Time // zero: it is the machine's
}

// NewClock is a clock that stands at the first midnight of the month before now.
func NewClock(machine func() time.Time) *Clock {
	return &Clock{machine: machine, at: machine().UTC().Truncate(day).Add(-month)}
}

// Now is the time that is played, or the machine's.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return c.machine()
	}
	return c.at
}

// Playing reports whether the clock is in the past.
func (c *Clock) Playing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.at.IsZero()
}

// to moves the clock on, but not into the future.
func (c *Clock) to(t time.Time) (reached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.Before(c.machine()) {
		return false
	}
	c.at = t
	return true
}

// end makes the clock the machine's.
func (c *Clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
