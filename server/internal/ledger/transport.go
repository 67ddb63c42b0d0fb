package ledger

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Transport carries batches of events to the nodes that write them to the ledger. It takes
// batches while the database is away.
type Transport interface {
	// Up reports whether it takes batches.
	Up() bool

	// Publish returns nil once a batch is safe. It returns ErrTransportFull or ErrTooLarge for a
	// batch that it does not take. After any other error the batch may or may not be safe:
	// it may be published or written again under its id.
	Publish(ctx context.Context, b *store.EventBatch) error

	// MaxBatch is how many events a batch may have.
	MaxBatch() int

	// Close ends the transport. Who opened it calls it once the ledger is closed.
	Close()
}

// What a transport says of a batch that it does not take.
var (
	// ErrTransportFull is returned when as many batches wait as there may be.
	ErrTransportFull = errors.New("the stream of the bus is full")

	// ErrTooLarge is returned for a batch that does not fit into a message.
	ErrTooLarge = errors.New("the batch is larger than a message")
)

// way is how events went.
type way int

const (
	byStore way = iota
	byTransport
	pastTransport // to the store, because the transport was away
)

// batchSize is how many events go together. The lock is held.
func (w *Writer) batchSize() int {
	if w.o.Transport != nil && w.o.Transport.Up() {
		return min(w.o.Transport.MaxBatch(), w.o.BatchSize)
	}
	return w.o.BatchSize
}

// publish brings events to the transport, or to the store while the transport is away. Either way
// they have one id, under which the store writes them once: a batch that the transport has
// stored without saying so adds nothing when it comes from there, or from here.
func (w *Writer) publish(events []store.Event) func(context.Context) (written, error) {
	batch := store.EventBatch{ID: w.o.IDs.New(w.o.Now()), Events: events}
	return func(ctx context.Context) (written, error) {
		if w.o.Transport.Up() {
			switch err := w.o.Transport.Publish(ctx, &batch); {
			case err == nil:
				return written{way: byTransport}, nil
			case errors.Is(err, ErrTooLarge): // or gathered while the transport was away
				return written{}, err
			case errors.Is(err, ErrTransportFull):
				return written{}, transportFull(err)
			}
		}
		select {
		case w.lanes <- struct{}{}:
			defer func() { <-w.lanes }()
		case <-ctx.Done():
			return written{}, fault.OnAcquire(ctx.Err())
		}
		added, err := w.o.Batches.WriteEventBatches(ctx, "", []store.EventBatch{batch})
		return written{pastTransport, added}, err
	}
}

// transportFull returns the error for callers while the transport is full, because the database
// has been away for too long.
func transportFull(cause error) *fault.Error {
	const message = "The bus is full: the ledger's database takes no events, and there is no more room for them to wait."
	if cause == nil {
		return fault.New(fault.CodeRateLimitExceeded, message)
	}
	return fault.Wrap(cause, fault.CodeRateLimitExceeded, message)
}
