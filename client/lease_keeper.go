package client

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// heldLease is a lease that a worker holds. Its length comes from the server's clock;
// its end is computed by the local one.
type heldLease struct {
	of       string // what is held, in the log
	id       recoup.ID
	lasts    time.Duration
	received time.Time // when the claim was answered

	// extend asks for the lease once more, from now on, for as long.
	extend func(ctx context.Context, seconds int) error
}

// holding runs do under a lease, which it extends meanwhile. The context of do ends
// with ErrLeaseLost when the lease is lost. It returns when do has returned, with the
// cause if the context ended before.
func (w *pool) holding(h heldLease, do func(ctx context.Context)) (cause error) {
	ctx, lose := context.WithCancelCause(w.running)
	defer lose(nil)
	held, release := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer release()
		do(ctx)
	}()
	w.keep(held, lose, &h)
	<-finished
	return context.Cause(ctx)
}

// keep extends a lease until ctx ends, and calls lose when it is lost: the server says
// so, or no extension was confirmed before it expired.
func (w *pool) keep(ctx context.Context, lose context.CancelCauseFunc, h *heldLease) {
	ends, wait := h.received.Add(h.lasts), h.lasts/3
	for h.lasts > 0 && retry.Sleep(ctx, wait) == nil {
		asked := w.client.o.Now()
		err := h.ask(ctx, ends.Sub(asked))
		left := ends.Sub(w.client.o.Now())
		switch {
		case err == nil:
			ends, wait = asked.Add(h.lasts), h.lasts/3
		case ctx.Err() != nil:
			return
		case decided(err) || left <= 0:
			w.logger.Warn("a lease is lost", h.of, h.id, "error", err)
			lose(ErrLeaseLost)
			return
		default:
			wait = min(h.lasts/12, left)
		}
	}
}

// ask extends the lease, and gives up when the lease expires.
func (h *heldLease) ask(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return h.extend(ctx, seconds(h.lasts))
}
