package ledger

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Bus is what a writer needs of a bus; see package bus.
type Bus interface {
	// Up reports whether it takes batches.
	Up() bool

	// Publish returns nil once a batch is safe. The errors are those of package bus.
	Publish(ctx context.Context, b *store.EventBatch) error
}

// way is how events went.
type way int

const (
	byStore way = iota
	byBus
	pastBus // to the store, because the bus was away
)

// batchSize is how many events go together. The lock is held.
func (w *Writer) batchSize() int {
	if w.o.Bus != nil && w.o.Bus.Up() {
		return min(bus.MaxBatch, w.o.BatchSize)
	}
	return w.o.BatchSize
}

// addToBus brings events to the bus, or to the store while the bus is away. Either way
// they have one id, under which the store writes them once: a batch that the bus has
// stored without saying so adds nothing when it comes from there, or from here.
func (w *Writer) addToBus(events []store.Event) func(context.Context) (written, error) {
	batch := store.EventBatch{ID: w.o.IDs.New(w.o.Now()), Events: events}
	return func(ctx context.Context) (written, error) {
		if w.o.Bus.Up() {
			switch err := w.o.Bus.Publish(ctx, &batch); {
			case err == nil:
				return written{way: byBus}, nil
			case errors.Is(err, bus.ErrTooLarge): // or gathered while the bus was away
				return written{}, err
			case errors.Is(err, bus.ErrFull):
				return written{}, busFull(err)
			}
		}
		select {
		case w.lanes <- struct{}{}:
			defer func() { <-w.lanes }()
		case <-ctx.Done():
			return written{}, fault.OnAcquire(ctx.Err())
		}
		added, err := w.o.Batches.WriteEventBatches(ctx, "", []store.EventBatch{batch})
		return written{pastBus, added}, err
	}
}

// busFull is what a caller is told while the bus is full, which it is when the database
// has been away for too long.
func busFull(cause error) *fault.Error {
	const message = "The bus is full: the ledger's database takes no events, and there is no more room for them to wait."
	if cause == nil {
		return fault.New(fault.CodeRateLimitExceeded, message)
	}
	return fault.Wrap(cause, fault.CodeRateLimitExceeded, message)
}
