package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Receipt stands for events that a [Writer] has accepted.
type Receipt struct {
	w     *Writer
	at    time.Time // when they were accepted
	total int

	// The writer's lock guards the rest.
	events   []store.Event
	taken    int // by flushers
	pending  int // not yet written or given up
	lost     int // given up
	cause    error
	urgent   bool
	finished chan struct{} // made for whoever waits first
}

// Wait returns nil once all events are committed. It returns a [*fault.Error] if
// some were given up, which wraps the store's own error, and if that is not decided
// when ctx ends, or after the writer's WaitLimit: STORAGE_FULL, TEMPORARY_UNAVAILABLE or
// DATABASE_BUSY if that is the cause, otherwise DATABASE_CONNECTION_ERROR. In that case they may still be written; sending them again
// with the same ids and times does no harm.
func (r *Receipt) Wait(ctx context.Context) error {
	finished := r.hurry()
	limit := time.NewTimer(r.w.o.WaitLimit)
	defer limit.Stop()
	select {
	case <-finished:
		return r.outcome()
	case <-ctx.Done():
		return r.undecided(context.Cause(ctx))
	case <-limit.C:
		return r.undecided(errWaitLimit)
	}
}

var errWaitLimit = errors.New("waited for the ledger as long as is allowed")

// hurry says that somebody waits for these events.
func (r *Receipt) hurry() <-chan struct{} {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.finished == nil {
		r.finished = make(chan struct{})
		if r.pending == 0 {
			close(r.finished)
		}
	}
	if r.taken < r.total && !r.urgent {
		r.urgent = true
		if w.urgent++; w.urgent == 1 {
			w.arm(w.o.UrgentDelay)
		}
	}
	return r.finished
}

func (r *Receipt) outcome() error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.lost == 0 {
		return nil
	}
	verdict := fault.Classify(r.cause)
	switch {
	case errors.Is(r.cause, errGivenUp):
		verdict = fault.Verdict{Code: fault.CodeDatabaseConnectionError}
	case Poisonous(r.cause):
		verdict = fault.Verdict{Code: fault.CodeConstraintViolation}
	}
	return verdict.Wrap(r.cause, "The ledger could not keep %d of %d events.", r.lost, r.total)
}

func (r *Receipt) undecided(cause error) error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.w.trouble.code == fault.CodeRateLimitExceeded {
		return transportFull(cause).After(r.w.trouble.wait())
	}
	return r.w.trouble.fault(cause, "The events were accepted and are not committed yet. They may still be: send them again with the same ids.")
}
