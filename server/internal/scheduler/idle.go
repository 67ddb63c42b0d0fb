package scheduler

import (
	"context"
	"errors"
	"time"
)

// usuallyIdle is how often a job is begun at most while all nodes are idle. What is due by
// the clock does not wait for it: the nodes wake for that.
const usuallyIdle = time.Hour

// idle is what a clock knows of its node having nothing to do.
type idle struct {
	now    bool          // it is idle
	looked time.Duration // when it last ran jobs while idle, or became idle, by Since
	rested bool          // nobody has led since, as far as it knows
}

// Idle takes the place of Tick while the node has nothing to do. It resigns, and from time to
// time leads for as long as it takes to run the jobs that are begun while idle. Without
// either it leaves the store alone. It reports whether it has run jobs.
//
// While all nodes are idle none leads: whichever wakes first does, without waiting for the
// term of one that may be gone.
func (c *Clock) Idle(ctx context.Context) (ran bool, err error) {
	if c.setIdle(true) {
		return false, c.Resign(ctx)
	}
	c.mu.Lock()
	wait := c.Since()-c.idle.looked < c.Options.Idle
	if !wait {
		c.idle.looked = c.Since()
	}
	c.mu.Unlock()
	if wait {
		return false, nil
	}
	err = c.tick(ctx)
	err = errors.Join(err, c.Resign(ctx))
	c.mu.Lock()
	c.idle.rested = true
	c.mu.Unlock()
	return true, err
}

// setIdle notes whether the node is idle, and reports whether it has become so.
func (c *Clock) setIdle(now bool) (become bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	become = now && !c.idle.now
	if become {
		c.idle.looked, c.idle.rested = c.Since(), true
	}
	c.idle.now = now
	return become
}

func (c *Clock) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle.now
}

// endRest notes that somebody leads, and reports whether nobody did because the nodes were
// idle.
func (c *Clock) endRest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.idle.rested
	c.idle.rested = false
	return was
}

// restedAs is this node where nobody leads because the nodes are idle, or have just been:
// it leads as soon as there is something to do. Else it is empty.
func (c *Clock) restedAs() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle.rested {
		return c.Node
	}
	return ""
}

// rested begins a job again that was not run because the nodes were idle: it has not gone
// without success.
func (p *progress) rested(now time.Time) {
	if p.saved.Error == "" && !p.note.Late {
		p.note.Worked = now
	}
}

// pace is how often the job is begun.
func (p *progress) pace(idle bool) time.Duration {
	if !idle {
		return p.Every
	}
	if p.Job.Idle > 0 {
		return max(p.Every, p.Job.Idle)
	}
	return max(p.Every, usuallyIdle)
}
