package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What JetStream answers when it cannot store a message: the store failed, which is how a
// stream that discards what is new says that it is full; no resources; no storage.
const (
	storeFailed           jetstream.ErrorCode = 10077
	insufficientResources jetstream.ErrorCode = 10023
	insufficientStorage   jetstream.ErrorCode = 10047
)

// Publish brings a batch to the disks of most of the servers. It returns ErrAway,
// ErrUnknown, or an error of
// ledger.Transport.
func (b *Conn) Publish(ctx context.Context, batch *store.EventBatch) error {
	if consumer, _, cause := b.line(); consumer == nil {
		return errors.Join(ErrAway, cause)
	}
	w, _ := writers.Get().(*writer)
	defer writers.Put(w) // the connection has copied the message, or never will
	data := w.encode(batch)
	if len(batch.Events) > MaxBatch || len(data) > maxMessage {
		return fmt.Errorf("%w: %d events, %d bytes", ledger.ErrTooLarge, len(batch.Events), len(data))
	}
	return b.publish(ctx, &nats.Msg{Subject: subject, Data: data}, Stream, batch.ID.String())
}

// MaxBatch is how many events a batch may have.
func (*Conn) MaxBatch() int { return MaxBatch }

// publish sends a message and waits until it is stored. A bus that does not answer is away.
func (b *Conn) publish(ctx context.Context, msg *nats.Msg, stream, id string) error {
	ctx, cancel := context.WithTimeout(ctx, b.o.AckTimeout)
	defer cancel()
	_, err := b.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
	var refused *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		switch refused.ErrorCode {
		case storeFailed, insufficientResources, insufficientStorage:
			return fmt.Errorf("%w: %w", ledger.ErrTransportFull, err)
		}
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionReconnecting):
		err = fmt.Errorf("%w: %w", ErrAway, err)
	default:
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	b.fail(err)
	return err
}
