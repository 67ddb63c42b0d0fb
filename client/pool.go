package client

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// pool is a worker pool: slots for what is running, and contexts that outlive a stop.
type pool struct {
	client *Client
	logger *slog.Logger
	what   string // they work on, for messages

	slots   chan struct{} // holds one for each thing at work
	tasks   sync.WaitGroup
	running context.Context // ends when work must
	evict   context.CancelCauseFunc
	all     context.Context // ends when everything must
	end     context.CancelFunc
}

// newPool begins with contexts that a stop does not end: what ctx carries stays,
// its end is for claimAll to see.
func newPool(ctx context.Context, c *Client, logger *slog.Logger, what string, concurrency int) *pool {
	w := &pool{client: c, logger: logger, what: what, slots: make(chan struct{}, concurrency)}
	w.all, w.end = context.WithCancel(context.WithoutCancel(ctx))
	w.running, w.evict = context.WithCancelCause(w.all)
	return w
}

// claimAll claims whenever there is a free slot, until ctx ends, and starts work on
// each item, with the time at which its claim was answered. work yields its slot when
// it is done.
func claimAll[T any](ctx context.Context, w *pool, claim func(ctx context.Context, limit int) ([]T, error), work func(T, time.Time)) error {
	for failures := 0; ; {
		free := w.free(ctx)
		if free == 0 {
			return nil
		}
		claimed, err := claim(ctx, free)
		received := w.client.o.Now()
		w.yield(free - len(claimed))
		for _, t := range claimed {
			w.tasks.Go(func() { work(t, received) })
		}
		if err == nil {
			failures = 0
			continue
		}
		if failures++; w.final(ctx, failures, err) {
			return err
		}
	}
}

// claimTwice claims what is due and, if nothing is, long-polls. The first request is
// answered at once and a stop does not cancel it, because its leases would have to
// expire; the long poll is cancelled, as it is nearly always idle.
func claimTwice[T any](ctx context.Context, w *pool, poll time.Duration, ask func(ctx context.Context, waitSeconds int) ([]T, error)) ([]T, error) {
	prompt, cancel := context.WithCancel(w.all)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(unwind, cancel) })()
	claimed, err := ask(prompt, 0)
	if err == nil && len(claimed) == 0 && ctx.Err() == nil {
		claimed, err = ask(ctx, max(seconds(poll), 1))
	}
	return claimed, err
}

// free takes all free slots, and waits for one if there is none. It returns zero
// when ctx ends.
func (w *pool) free(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for n := 1; ; n++ {
		select {
		case w.slots <- struct{}{}:
		default:
			return n
		}
	}
}

// yield gives slots back.
func (w *pool) yield(n int) {
	for range n {
		<-w.slots
	}
}

// final reports whether a failed claim is not worth retrying; if it is, final waits
// first.
func (w *pool) final(ctx context.Context, failures int, err error) bool {
	if ctx.Err() != nil {
		return false // that is why it failed, and the end anyway
	}
	v := w.client.o.Registry.Classify(err)
	if !v.Retryable(recoup.ConditionIdempotencyKey) { // a claim that comes twice does no harm
		return true
	}
	delay := max(pause().Delay(failures, w.client.random), min(v.RetryAfter, longestPause))
	w.logger.Warn(w.what+" cannot be claimed", "next_try_in", delay, "error", err)
	_ = retry.Sleep(ctx, delay) // when it ends early, so does claiming
	return false
}

// drain waits for what is running: first for it to finish, then, after its contexts
// are cancelled, for it to return. lost is the message about what did not even then.
func (w *pool) drain(grace time.Duration, lost string) error {
	finished := make(chan struct{})
	go func() {
		w.tasks.Wait()
		close(finished)
	}()
	if within(finished, grace) {
		return nil
	}
	w.evict(ErrStopped)
	if within(finished, unwind) {
		return nil
	}
	return fault.New(fault.CodeWorkerLost, lost, len(w.slots))
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
