package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recoup-dev/recoup"
)

// Options are what [Do] needs to know. [NewOptions] fills in the clock and the
// randomness of production; tests put their own in their place.
type Options struct {
	// Policy returns the policy for a failure with this code. [Request] is one
	// such function, [Always] makes one of a single policy. When codes change
	// between attempts, all attempts count against the budget of the newest.
	Policy func(recoup.Code) Policy

	// Classify says whether an error may be retried. It is asked after every
	// attempt, so a failure that turns out to be permanent ends the retrying.
	Classify func(error) Failure

	// Observe, if set, is called after every attempt, before the wait that follows.
	Observe func(Attempt)

	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error // returns early, with the reason, when the context ends
	Random func() float64
}

// NewOptions returns options that use the system's clock, timers and randomness.
func NewOptions(policy func(recoup.Code) Policy, classify func(error) Failure) Options {
	return Options{Policy: policy, Classify: classify, Now: time.Now, Sleep: Sleep, Random: rand.Float64}
}

// Always returns a policy function that answers p for every code.
func Always(p Policy) func(recoup.Code) Policy {
	return func(recoup.Code) Policy { return p }
}

// Attempt is what Observe is called with.
type Attempt struct {
	Number  int           // from 1
	Err     error         // nil if it succeeded
	Failure Failure       // how Err was classified
	Verdict Verdict       // what follows
	Delay   time.Duration // the wait that follows, if the verdict is Retry
}

// Error is returned by [Do] when it gives up. It wraps the last error of the work,
// and the context's if that is what ended the retries.
type Error struct {
	Attempts int // how often the work was tried
	Verdict  Verdict
	Err      error
}

func (e *Error) Error() string {
	return fmt.Sprintf("gave up after attempt %d (%s): %v", e.Attempts, e.Verdict, e.Err)
}

// Unwrap returns the last error.
func (e *Error) Unwrap() error { return e.Err }

// Do calls work until it succeeds or its policy forbids another try. It waits
// between attempts, and stops waiting when ctx ends; work is not called once ctx has
// ended. Every error it returns is an *[Error], except that incomplete options are
// refused before the first attempt.
func Do(ctx context.Context, o Options, work func(context.Context) error) error {
	if err := o.validate(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &Error{Verdict: Cancelled, Err: ended(ctx)}
	}
	start := o.Now()
	for number := 1; ; number++ {
		a := Attempt{Number: number, Err: work(ctx), Verdict: Succeeded}
		if a.Err != nil {
			o.judge(ctx, &a, start)
		}
		if o.Observe != nil {
			o.Observe(a)
		}
		switch a.Verdict {
		case Succeeded:
			return nil
		case Retry:
			if err := o.Sleep(ctx, a.Delay); err != nil {
				return cancelled(a, err)
			}
		case Cancelled:
			return cancelled(a, ended(ctx))
		default:
			return &Error{Attempts: a.Number, Verdict: a.Verdict, Err: a.Err}
		}
	}
}

// judge fills in what follows a failed attempt.
func (o Options) judge(ctx context.Context, a *Attempt, start time.Time) {
	a.Failure = o.Classify(a.Err)
	if ctx.Err() != nil {
		a.Verdict = Cancelled
		return
	}
	a.Failure.Elapsed = o.Now().Sub(start)
	a.Delay, a.Verdict = o.Policy(a.Failure.Code).Next(a.Number, a.Failure, o.Random)
}

func cancelled(a Attempt, cause error) *Error {
	return &Error{Attempts: a.Number, Verdict: Cancelled, Err: fmt.Errorf("%w, after: %w", cause, a.Err)}
}

// ended says why ctx is done: its error, and its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (o Options) validate() error {
	switch {
	case o.Policy == nil:
		return errors.New("retry: options without Policy: use NewOptions")
	case o.Classify == nil:
		return errors.New("retry: options without Classify: use NewOptions")
	case o.Now == nil || o.Sleep == nil || o.Random == nil:
		return errors.New("retry: options without Now, Sleep or Random: use NewOptions")
	}
	return nil
}

// Sleep waits for d. It returns the context's error and cause at once when ctx
// ends or has ended, and nil otherwise.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ended(ctx)
	case <-timer.C:
		return nil
	}
}
