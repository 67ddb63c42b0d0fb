// Package load makes load at a fixed rate and measures it: a schedule that no answer
// delays, a histogram of latencies, figures that say when they cannot be trusted, and the
// comparison of two runs. It knows neither Recoup nor HTTP, and neither clock nor timer:
// what an operation does, and what time it is, it is told.
//
// A latency counts from when its operation was to begin, not from when a client found time
// for it. Measured otherwise, a server that stalls stops the measurement with it, and the
// stall shows as one slow operation instead of as thousands (coordinated omission).
package load

import (
	"context"
	"sync"
	"time"
)

// Outcome is what became of an operation.
type Outcome struct {
	Items      int           // what it was about: events sent, errors claimed
	Code       string        // of its failure; empty: it succeeded
	Why        string        // the same in words
	Limited    bool          // the server asks for fewer requests (429)
	RetryAfter time.Duration // how long it asks to wait then
	Skipped    bool          // there was nothing to send
}

// Options are how a load is made.
type Options struct {
	Plan    *Plan
	Clients int // how many operations can be under way at once

	// Drain is how long after the plan's end operations that are late are still sent.
	Drain time.Duration

	// Again has operations that the server limits sent again when it says; the wait counts
	// as their latency. Otherwise they are dropped.
	Again bool

	Do    func(context.Context, Operation) Outcome
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error

	// CPU is the processor time that this program has taken, on the CPUs that it may use;
	// nil: nobody knows.
	CPU  func() time.Duration
	CPUs int
}

// Load is one run.
type Load struct {
	Options
	start time.Time
	taken time.Duration // of CPU, before the start

	mu      sync.Mutex // of all below, and of the plan
	tallies map[string]*tally
	all     tally
	lag     Histogram     // how late clients that were free began
	queued  Histogram     // how long operations waited for a free client, of those that did
	begun   int           // operations that were sent or skipped
	stopped time.Duration // when somebody ended it before its time; 0: nobody has
	ended   time.Duration // when the last answer had come; 0: it has not
	busy    float64       // the share of CPU until then
}

// New begins a run: its schedule counts from now.
func New(o Options) *Load {
	l := &Load{Options: o, start: o.Now(), tallies: map[string]*tally{}}
	if o.CPU != nil {
		l.taken = o.CPU()
	}
	for _, s := range o.Plan.mix {
		if s.Weight > 0 {
			l.tallies[s.Kind] = &tally{}
		}
	}
	return l
}

// Run sends the operations of the plan, each when it is due or, where all clients are
// busy, as soon as one is free. It returns when all are answered. When ctx ends it begins
// no more, and waits for the answers of those that are under way.
func (l *Load) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, l.stop)()
	var clients sync.WaitGroup
	for range l.Clients {
		clients.Go(func() { l.client(ctx) })
	}
	clients.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = max(l.since(), 1)
	l.busy = l.share(l.ended)
	if ctx.Err() != nil && l.stopped == 0 { // the last client was faster than stop
		l.stopped = l.ended
	}
}

// stop notes when a run was ended before its time.
func (l *Load) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = max(l.since(), 1)
}

// client carries out one operation after another.
func (l *Load) client(ctx context.Context) {
	for {
		op, free, ok := l.next(ctx)
		if !ok {
			return
		}
		if wait := op.Due - free; wait > 0 && l.Sleep(ctx, wait) != nil {
			return
		}
		began := l.since()
		outcome, answers := l.perform(ctx, op)
		l.record(op, free, began, outcome, answers)
	}
}

// next takes an operation from the plan, and says when its client was free for it. There
// is none once the run is over.
func (l *Load) next(ctx context.Context) (op Operation, free time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free = l.since()
	if ctx.Err() != nil || free > l.Plan.span()+l.Drain {
		return Operation{}, 0, false
	}
	op, ok = l.Plan.Next()
	return op, free, ok
}

// perform carries an operation out, again and again if the server limits it and it is to
// be sent again. Limited is how often it did.
func (l *Load) perform(ctx context.Context, op Operation) (o Outcome, limited int) {
	for {
		o = l.Do(context.WithoutCancel(ctx), op)
		if !o.Limited {
			return o, limited
		}
		limited++
		late := l.since()+o.RetryAfter > l.Plan.span()+l.Drain
		if !l.Again || late || l.Sleep(ctx, max(o.RetryAfter, time.Millisecond)) != nil {
			return o, limited
		}
	}
}

// record notes what became of an operation.
func (l *Load) record(op Operation, free, began time.Duration, o Outcome, limited int) {
	ended := l.since()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	l.lag.Record(began - max(op.Due, free))
	if free > op.Due {
		l.queued.Record(free - op.Due)
	}
	for _, t := range []*tally{l.tallies[op.Kind], &l.all} {
		t.add(o, limited, ended-op.Due, ended-began)
	}
}

// share is how much of its CPUs the program has used in the time since the start.
func (l *Load) share(elapsed time.Duration) float64 {
	if l.CPU == nil || l.CPUs < 1 {
		return 0
	}
	return float64(l.CPU()-l.taken) / float64(elapsed*time.Duration(l.CPUs))
}

func (l *Load) since() time.Duration { return l.Now().Sub(l.start) }
