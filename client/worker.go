package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/retry"
)

// Worker retries errors. It claims those that are due, runs Handler on each,
// extends the lease while that runs, and tells the server how it went. Client,
// Name and Handler are required.
type Worker struct {
	Client *Client
	Name   string // of this worker, in the history of errors

	// Handler does the work of an error again: nil means that it worked. What it
	// returns is classified by fault.Classify; a panic is a RUNTIME_BUG. Its
	// context ends, with [ErrLeaseLost] as the cause, when the error is no longer
	// this worker's: then another may be at it already. It ends with [ErrStopped]
	// when the worker stops and the handler did not finish in time.
	Handler func(ctx context.Context, e recoup.Error) error

	// Proven says what is true of every run of Handler, so that failures with a
	// conditional code can be retried: recoup.ConditionIdempotencyKey if doing
	// the work twice does no harm.
	Proven []recoup.Condition

	Tables      []string      // default: every table that the key is for
	Concurrency int           // errors at once; default 8, at most 1000
	Lease       time.Duration // default: the policy's
	Poll        time.Duration // how long a claim waits for something to fall due; default 20 s, at most 60 s
	Grace       time.Duration // how long handlers may go on after a stop; default 30 s
	Logger      *slog.Logger  // is told of failures; nil: nobody is
}

// Why the context of a handler ended.
var (
	ErrLeaseLost = errors.New("the lease is lost")
	ErrStopped   = errors.New("the worker has stopped")
)

// unwind is how long handlers may take to return after their context has ended,
// and results to be sent after that.
const unwind = 5 * time.Second

func (w Worker) withDefaults() Worker {
	if w.Concurrency == 0 {
		w.Concurrency = 8
	}
	if w.Poll == 0 {
		w.Poll = 20 * time.Second
	}
	if w.Grace == 0 {
		w.Grace = 30 * time.Second
	}
	if w.Logger == nil {
		w.Logger = slog.New(slog.DiscardHandler)
	}
	return w
}

func (w Worker) validate() error {
	switch {
	case w.Client == nil:
		return errors.New("client: a worker needs a client")
	case w.Name == "":
		return errors.New("client: a worker needs a name, which the history of errors keeps")
	case w.Handler == nil:
		return errors.New("client: a worker needs a handler")
	case w.Concurrency < 1 || w.Concurrency > maxResults:
		return fmt.Errorf("client: a worker's concurrency must be between 1 and %d", maxResults)
	case w.Lease < 0 || w.Grace < 0 || w.Poll < 0 || w.Poll > time.Minute:
		return errors.New("client: lease, grace and poll must not be negative, a poll at most a minute")
	}
	return nil
}

// Run works until ctx ends, or until the server refuses the worker for good.
// Then it claims no more, lets running handlers finish for as long as Grace
// says, ends their contexts, and sends their results. Handlers that do not
// return even then are left behind, and the error says how many; their leases
// run out by themselves.
func (w Worker) Run(ctx context.Context) error {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return err
	}
	s := newShift(ctx, w)
	err := errors.Join(s.claimAll(ctx), s.drain())
	s.end()
	s.clerk.done.Wait()
	return err
}

// shift is one run of a worker.
type shift struct {
	Worker
	slots    chan struct{} // holds one for each error at work
	tasks    sync.WaitGroup
	handlers context.Context // ends when handlers must
	evict    context.CancelCauseFunc
	all      context.Context // ends when everything must
	end      context.CancelFunc
	clerk    *clerk
}

// newShift begins a shift that a stop does not end: what ctx carries stays, its
// end is for claimAll to see.
func newShift(ctx context.Context, w Worker) *shift {
	s := &shift{Worker: w, slots: make(chan struct{}, w.Concurrency)}
	s.all, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.handlers, s.evict = context.WithCancelCause(s.all)
	s.clerk = newClerk(s.all, w.Client)
	return s
}

// claimAll claims whenever there is a free slot, until ctx ends.
func (s *shift) claimAll(ctx context.Context) error {
	for failures := 0; ; {
		free := s.free(ctx)
		if free == 0 {
			return nil
		}
		claimed, err := s.claim(ctx, free)
		received := s.Client.o.Now()
		s.yield(free - len(claimed))
		for _, e := range claimed {
			s.tasks.Go(func() { s.work(e, received) })
		}
		if err == nil {
			failures = 0
			continue
		}
		if failures++; s.final(ctx, failures, err) {
			return err
		}
	}
}

// free takes all free slots, and waits for one if there is none. It returns zero
// when ctx ends.
func (s *shift) free(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for n := 1; ; n++ {
		select {
		case s.slots <- struct{}{}:
		default:
			return n
		}
	}
}

// yield gives slots back.
func (s *shift) yield(n int) {
	for range n {
		<-s.slots
	}
}

// claim takes what is due, and waits if nothing is. The first request is
// answered at once and is not broken off by a stop, because what it leased would
// have to run out; the second is, as it is nearly always idle.
func (s *shift) claim(ctx context.Context, limit int) ([]recoup.Error, error) {
	prompt, cancel := context.WithCancel(s.all)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(unwind, cancel) })()
	c := Claim{Tables: s.Tables, Worker: s.Name, Limit: limit, LeaseSeconds: seconds(s.Lease)}
	claimed, err := s.Client.Claim(prompt, c, NoRetry())
	if err == nil && len(claimed) == 0 && ctx.Err() == nil {
		c.WaitSeconds = max(seconds(s.Poll), 1)
		claimed, err = s.Client.Claim(ctx, c, NoRetry())
	}
	// An error comes without a lease if the claim found that its last attempt
	// had run out.
	claimed = slices.DeleteFunc(claimed, func(e recoup.Error) bool { return e.LeaseToken.IsZero() })
	return claimed[:min(len(claimed), limit)], err
}

// final reports whether claiming again will not help after a claim that failed;
// if it may, it waits first.
func (s *shift) final(ctx context.Context, failures int, err error) bool {
	if ctx.Err() != nil {
		return false // that is why it failed, and the end anyway
	}
	v := s.Client.o.Registry.Classify(err)
	if !v.Retryable(recoup.ConditionIdempotencyKey) { // a claim that comes twice does no harm
		return true
	}
	delay := max(pause().Delay(failures, s.Client.random), min(v.RetryAfter, longestPause))
	s.Logger.Warn("errors cannot be claimed", "next_try_in", delay, "error", err)
	_ = retry.Sleep(ctx, delay) // when it ends early, so does claiming
	return false
}

// drain waits for what is running: first for all of it to finish, then for it to
// be broken off.
func (s *shift) drain() error {
	finished := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(finished)
	}()
	if within(finished, s.Grace) {
		return nil
	}
	s.evict(ErrStopped)
	if within(finished, unwind) {
		return nil
	}
	return fault.New(fault.CodeWorkerLost, "%d handlers did not return, or their results could not be sent.", len(s.slots))
}

func within(finished <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-finished:
		return true
	case <-timer.C:
		return false
	}
}

// seconds rounds up: a lease or a wait of less than a second is one.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
