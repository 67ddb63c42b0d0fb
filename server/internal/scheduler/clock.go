package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Clock leads, if nobody else does, and then runs the jobs.
type Clock struct {
	Options
	progress []*progress // of one tick at a time

	mu      sync.Mutex
	term    store.Term    // zero: it does not lead
	renewed time.Duration // when it last asked for the term, by Since
	idle    idle
}

// New checks the options.
func New(o Options) (*Clock, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Clock{Options: o}, nil
}

// Tick bids for the leadership and, where it leads, runs every job whose time has
// come, until none has anything left. Jobs take turns chunk by chunk, so that the
// backlog of one does not keep others waiting. What fails is noted with its job
// and tried again; an error is returned only if leading itself has failed, or
// noting how a job went.
//
// It is called again and again, about every second, by one goroutine.
func (c *Clock) Tick(ctx context.Context) error {
	c.setIdle(false)
	return c.tick(ctx)
}

func (c *Clock) tick(ctx context.Context) error {
	if led, err := c.lead(ctx); !led || err != nil {
		return err
	}
	var unsaved []error
	for again := true; again && ctx.Err() == nil; {
		var err error
		if again, err = c.round(ctx); err != nil {
			unsaved = append(unsaved, err)
		}
	}
	return errors.Join(unsaved...)
}

// round gives each job that is due one turn, and reports whether there is more to
// do at once. It ends early where the node does not lead any more.
func (c *Clock) round(ctx context.Context) (again bool, err error) {
	var unsaved []error
	for _, p := range c.progress {
		if !p.due(c.Now(), c.isIdle()) {
			continue
		}
		before := c.Term().Number
		if led, err := c.renew(ctx); !led || err != nil {
			return false, errors.Join(append(unsaved, err)...)
		}
		if c.Term().Number != before { // another has led meanwhile, and what p knows is old
			return true, errors.Join(unsaved...)
		}
		err := c.turn(ctx, p)
		if errors.Is(err, store.ErrTermOver) || errors.Is(err, store.ErrRefused) { // another has begun
			c.forget()
			return false, errors.Join(unsaved...)
		}
		if err != nil {
			unsaved = append(unsaved, err)
		}
		again = again || p.running
	}
	return again, errors.Join(unsaved...)
}

// turn lets a job do a chunk, and notes how it went. Nothing is noted of a chunk
// that was cut off because the node stops: the next leader does it again.
func (c *Clock) turn(ctx context.Context, p *progress) error {
	now, term := c.Now(), c.Term()
	p.begin(now)
	ctx = store.UnderTerm(ctx, term)                    // nothing is written after its term
	chunk, cancel := context.WithTimeout(ctx, c.left()) // no chunk outlives its term
	rows, more, err := p.Chunk(chunk, Run{Now: now, Term: term})
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, store.ErrTermOver) {
		return err
	}
	if errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrConflict) {
		more, err = false, nil // somebody else is at work there: later
	}
	was := p.saved.Error != ""
	p.took(c.Now(), rows, more && rows > 0, err)
	switch fails := p.saved.Error != ""; {
	case fails && !was:
		c.Logger.Warn("job failed; it will be retried", "job", p.Name, "cause", err)
	case was && !fails:
		c.Logger.Info("job recovered", "job", p.Name)
	}
	return c.note(ctx, p)
}

// lead bids, and begins where the last leader ended.
func (c *Clock) lead(ctx context.Context) (bool, error) {
	before := c.Term()
	led, err := c.bid(ctx)
	if !led || err != nil {
		return led, err
	}
	if c.Term().Number == before.Number {
		return true, nil
	}
	known, err := c.Store.Jobs(ctx)
	if err != nil {
		c.forget()
		return false, err
	}
	c.progress = make([]*progress, len(c.Jobs))
	rested := c.endRest()
	for i, j := range c.Jobs {
		c.progress[i] = resume(j, known, c.Now())
		if rested {
			c.progress[i].rested(c.Now())
		}
	}
	level := slog.LevelInfo
	if rested {
		level = slog.LevelDebug // it happens at every request that wakes an idle node
	}
	c.Logger.Log(ctx, level, "became leader", "term", c.Term().Number)
	return true, nil
}

// renew prolongs the term once a part of it is over.
func (c *Clock) renew(ctx context.Context) (bool, error) {
	if c.left() > c.Tenure*3/4 {
		return true, nil
	}
	return c.lead(ctx)
}

// bid asks for the term. Its end is reckoned from before it asked, so that it is
// over here before another can have it; an answer that comes later than that is
// none.
func (c *Clock) bid(ctx context.Context) (bool, error) {
	asked := c.Since()
	ctx, cancel := context.WithTimeout(ctx, c.Tenure)
	defer cancel()
	term, held, err := c.Store.Lead(ctx, store.Bid{Name: Leadership, Node: c.Node, Tenure: c.Tenure})
	if err == nil && !held {
		c.endRest()
	}
	if err != nil || !held {
		c.forget()
		return false, err
	}
	c.mu.Lock()
	c.term, c.renewed = term, asked
	c.mu.Unlock()
	return c.Leads(), nil
}

// left is how much of the term is left, by the monotonic clock.
func (c *Clock) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term.Number == 0 {
		return 0
	}
	return c.renewed + c.Tenure - c.Since()
}

// Term is the term in which became leader, or the zero term.
func (c *Clock) Term() store.Term {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term
}

// Leads reports whether became leader at the moment, as far as it knows.
func (c *Clock) Leads() bool { return c.left() > 0 }

func (c *Clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term, c.renewed = store.Term{}, 0
}

// Resign lets another node lead at once.
func (c *Clock) Resign(ctx context.Context) error {
	term := c.Term()
	if term.Number == 0 {
		return nil
	}
	c.forget()
	return c.Store.Resign(ctx, term)
}
