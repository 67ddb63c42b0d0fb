package engine

import (
	"context"
	"sync"
	"time"
)

const (
	// look is how often a long poll looks for what no bell announces: what falls
	// due by the clock.
	look = time.Second

	// maxLooks is how many polls look at once: fewer than the database has
	// connections.
	maxLooks = 6
)

// Polls keeps long polls from asking the database all at once. Of those that wait
// for the same thing one looks at a time and the others stand in line, so that
// thousands cost no more than one.
type Polls struct {
	looks chan struct{}

	mu    sync.Mutex
	lines map[string]*line
}

// line is those who wait for the same thing.
type line struct {
	turn chan struct{} // holds one while nobody has it
	n    int
}

// NewPolls returns an empty room.
func NewPolls() *Polls {
	return &Polls{looks: make(chan struct{}, maxLooks), lines: map[string]*line{}}
}

// Poll is one that waits.
type Poll struct {
	For     string // polls for the same look one at a time
	Wait    time.Duration
	Stopped <-chan struct{} // closed: nobody waits any longer

	// Rung returns what yields once a bell rings after it was called.
	Rung func() <-chan struct{}

	// Look reports whether there was something.
	Look func() (bool, error)
}

// Await looks at once, and as long as there is nothing, again when a bell rings
// and every second. It comes back empty when the wait is over, the node stops, or
// ctx ends: then nothing was claimed, and the caller is gone.
func (p *Polls) Await(ctx context.Context, poll Poll) error {
	if found, err := p.look(ctx, &poll); err != nil || found || poll.Wait == 0 {
		return err
	}
	over := time.NewTimer(poll.Wait)
	defer over.Stop()
	l := p.join(poll.For)
	defer p.leave(poll.For)
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
		return p.inTurn(ctx, &poll, over.C)
	case <-over.C:
	case <-poll.Stopped:
	case <-ctx.Done():
	}
	return nil
}

// inTurn looks until there is something, for one whose turn it is.
func (p *Polls) inTurn(ctx context.Context, poll *Poll, over <-chan time.Time) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		rung := poll.Rung()
		if found, err := p.look(ctx, poll); err != nil || found {
			return err
		}
		select {
		case <-rung:
		case <-tick.C:
		case <-over:
			return nil
		case <-poll.Stopped:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// look looks once there are few enough at the same time.
func (p *Polls) look(ctx context.Context, poll *Poll) (bool, error) {
	select {
	case p.looks <- struct{}{}:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { <-p.looks }()
	return poll.Look()
}

func (p *Polls) join(name string) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[name]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		p.lines[name] = l
	}
	l.n++
	return l
}

func (p *Polls) leave(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[name]; l.n == 1 {
		delete(p.lines, name)
	} else {
		l.n--
	}
}
