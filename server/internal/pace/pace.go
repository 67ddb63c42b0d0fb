// Package pace lets a node with nothing to do leave its database alone. A [Pace] is awake
// after a request, after a notification and while something is due. Otherwise it is asleep:
// the loops of the node wait, and one look from time to time finds what is due next. The
// node wakes for that deadline, so nothing is late because a node was asleep.
//
// The package knows neither the store nor the loops, and reads no clock of its own.
package pace

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Look is what a look at the database has found.
type Look struct {
	Pending bool          // something is due at some time
	Next    time.Duration // until it is; zero or less: it is due now

	// Silent says that something may fall due without a notification, so that the next look
	// must come soon.
	Silent bool
}

// Options of a pace. Look and Elapsed are required.
type Options struct {
	Look    func(context.Context) (Look, error)
	Elapsed func() time.Duration // on a monotonic clock, since any moment

	After  time.Duration // how long a request keeps the node awake; zero: [DefaultAfter]
	Linger time.Duration // how long something that was due keeps it awake; zero: [DefaultLinger]
	Every  time.Duration // between looks while asleep; zero: [DefaultEvery]
	Soon   time.Duration // between looks where Look.Silent; zero: [DefaultSoon]

	// Announce tells other nodes of requests at this one, at most five times in After. Nil: nobody is told.
	Announce func()

	// Change is called when the node falls asleep, and when it wakes. It must not block, nor
	// call the pace.
	Change func(asleep bool)

	Logger *slog.Logger
}

// The defaults of the options.
const (
	DefaultAfter  = 5 * time.Minute
	DefaultLinger = 30 * time.Second
	DefaultEvery  = 30 * time.Second
	DefaultSoon   = time.Second
)

// Pace says whether a node is awake. It is safe for concurrent use. A nil pace is always awake.
type Pace struct {
	o Options

	mu        sync.Mutex
	until     time.Duration // awake until then
	requests  int           // being served
	announced time.Duration // when other nodes were told last; negative: never
	awake     chan struct{} // closed while awake
	again     chan struct{} // a look is wanted now
}

// New returns a pace that is awake, as after a request.
func New(o Options) (*Pace, error) {
	if o.Look == nil || o.Elapsed == nil {
		return nil, errors.New("pace: a look and a clock are required")
	}
	set := func(d *time.Duration, usual time.Duration) {
		if *d <= 0 {
			*d = usual
		}
	}
	set(&o.After, DefaultAfter)
	set(&o.Linger, DefaultLinger)
	set(&o.Every, DefaultEvery)
	set(&o.Soon, DefaultSoon)
	if o.Announce == nil {
		o.Announce = func() {}
	}
	if o.Change == nil {
		o.Change = func(bool) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pace{o: o, announced: -1, awake: make(chan struct{}), again: make(chan struct{}, 1)}
	close(p.awake)
	p.until = o.Elapsed() + o.After
	return p, nil
}

// Begin counts a request, which keeps the node awake until end is called and for After
// from then on.
func (p *Pace) Begin() (end func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	p.requests++
	now := p.o.Elapsed()
	tell := p.announced < 0 || now-p.announced >= p.o.After/5
	if tell {
		p.announced = now
	}
	p.mu.Unlock()
	p.Active()
	if tell {
		p.o.Announce()
	}
	return func() {
		p.mu.Lock()
		p.requests--
		p.mu.Unlock()
		p.Active()
	}
}

// Active wakes the node for After: there was a request, here or at another node.
func (p *Pace) Active() {
	if p != nil {
		p.wake(p.o.After)
	}
}

// Due wakes the node for Linger: there is something to do.
func (p *Pace) Due() {
	if p != nil {
		p.wake(p.o.Linger)
	}
}

// LookAgain has a node that is asleep look now. What it has not heard may have happened.
func (p *Pace) LookAgain() {
	if p == nil {
		return
	}
	select {
	case p.again <- struct{}{}:
	default:
	}
}

func (p *Pace) wake(d time.Duration) {
	p.mu.Lock()
	p.until = max(p.until, p.o.Elapsed()+d)
	if p.asleep() {
		close(p.awake)
		p.o.Change(false)
	}
	p.mu.Unlock()
}

// asleep is Asleep under the lock.
func (p *Pace) asleep() bool {
	select {
	case <-p.awake:
		return false
	default:
		return true
	}
}

// Asleep reports whether the node is to leave its database alone.
func (p *Pace) Asleep() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asleep()
}

// Wait returns once the node is awake, or the error of ctx.
func (p *Pace) Wait(ctx context.Context) error {
	if p == nil {
		return ctx.Err()
	}
	p.mu.Lock()
	awake := p.awake
	p.mu.Unlock()
	select {
	case <-awake:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Run puts the node to sleep when nothing has happened for a while, and wakes it for what
// is due, until ctx ends.
func (p *Pace) Run(ctx context.Context) {
	if p == nil {
		return
	}
	defer p.Due() // nothing waits for a pace that has ended
	for p.pause(ctx, p.left()) {
		if p.left() > 0 {
			continue
		}
		next, due := p.look(ctx)
		if due {
			p.Due()
			continue
		}
		p.sleep(ctx, next)
	}
}

// left is how long the node stays awake.
func (p *Pace) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests > 0 {
		return p.o.After
	}
	return p.until - p.o.Elapsed()
}

// pause waits, and reports whether ctx lives.
func (p *Pace) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// look returns when to look again, and whether something is due now. Where the look fails
// the loops of the node find out why, and log it.
func (p *Pace) look(ctx context.Context) (next time.Duration, due bool) {
	found, err := p.o.Look(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.o.Logger.Debug("idle node cannot look for what is due", "cause", err)
		}
		return 0, true
	}
	next = p.o.Every
	if found.Silent {
		next = min(next, p.o.Soon)
	}
	if found.Pending {
		next = min(next, found.Next)
	}
	return next, next <= 0
}

// sleep sleeps until something is due, or somebody wakes the node.
func (p *Pace) sleep(ctx context.Context, next time.Duration) {
	p.mu.Lock()
	if p.requests > 0 || p.until > p.o.Elapsed() { // woken meanwhile
		p.mu.Unlock()
		return
	}
	awake := make(chan struct{})
	p.awake = awake
	p.o.Change(true)
	p.mu.Unlock()
	for due := false; !due; next, due = p.look(ctx) {
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-p.again:
			timer.Stop()
		case <-awake:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
	p.Due()
}
