package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
)

// Worker retries errors. It claims those that are due, runs Handler on each,
// extends the lease while that runs, and reports the result. Client, Name and Handler
// are required.
type Worker struct {
	Client *Client
	Name   string // of this worker, in the history of errors

	// Handler retries the work of an error; nil means that it succeeded. What it
	// returns is classified by fault.Classify; a panic is a RUNTIME_BUG. Its
	// context ends, with [ErrLeaseLost] as the cause, when the lease is lost: then
	// another worker may have the error already. It ends with [ErrStopped] when the
	// worker stops and the handler does not finish in time.
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
	Logger      *slog.Logger  // for failures; nil: none
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

// Run works until ctx ends, or until the server refuses the worker for good. Then it
// claims no more, waits up to Grace for running handlers, cancels their contexts, and
// sends their results. Handlers that do not return even then are abandoned, and the
// error says how many; their leases expire.
func (w Worker) Run(ctx context.Context) error {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return err
	}
	s := &workerRun{Worker: w, pool: newPool(ctx, w.Client, w.Logger, "errors", w.Concurrency)}
	s.sender = newResultSender(s.all, w.Client)
	err := errors.Join(claimAll(ctx, s.pool, s.claim, s.work),
		s.drain(w.Grace, "%d handlers did not return, or their results could not be sent."))
	s.end()
	s.sender.done.Wait()
	return err
}

// workerRun is one run of a worker.
type workerRun struct {
	Worker
	*pool
	sender *resultSender
}

// claim takes what is due, and waits if nothing is.
func (s *workerRun) claim(ctx context.Context, limit int) ([]recoup.Error, error) {
	claimed, err := claimTwice(ctx, s.pool, s.Poll, func(ctx context.Context, wait int) ([]recoup.Error, error) {
		return s.Client.Retries.Claim(ctx, recoup.RetryClaim{Tables: s.Tables, Worker: s.Name, Limit: limit, LeaseSeconds: seconds(s.Lease), WaitSeconds: wait}, NoRetry())
	})
	// An error comes without a lease if the claim found that its last lease had
	// expired, and recorded that instead.
	claimed = slices.DeleteFunc(claimed, func(e recoup.Error) bool { return e.LeaseToken.IsZero() })
	return claimed[:min(len(claimed), limit)], err
}

// seconds rounds up: a lease or a wait of less than a second is one.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
