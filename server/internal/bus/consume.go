package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Delivery is a message that this node has been given, until it acknowledges it or is
// silent for too long.
type Delivery struct {
	Batch     store.EventBatch // with its sequence
	Stream    string           // the generation that the sequence is of
	Err       error            // why it cannot be read; nil: it can
	Delivered int              // how often it was given to a node
	At        time.Time        // when the bus stored it

	msg jetstream.Msg
}

// fetchWait is how long a fetch waits for the first message.
const fetchWait = 2 * time.Second

// Fetch waits for messages and returns at most limit of them; none after a while, and
// none at once if the bus is away and ctx ends.
func (b *Conn) Fetch(ctx context.Context, limit int) ([]*Delivery, error) {
	consumer, changed, _ := b.line()
	if consumer == nil {
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(fetchWait):
		}
		return nil, ctx.Err()
	}
	generation := b.Generation()
	first, err := consumer.Next(jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		return nil, b.fetchFailed(ctx, err)
	}
	list := []*Delivery{delivery(first, generation)}
	if limit == 1 {
		return list, nil
	}
	more, err := consumer.FetchNoWait(limit - 1)
	if err != nil {
		return list, nil //nolint:nilerr // what has come is not held up; the next fetch fails too
	}
	for msg := range more.Messages() {
		list = append(list, delivery(msg, generation))
	}
	return list, nil
}

// fetchFailed tells that there is nothing from that nobody can be asked.
func (b *Conn) fetchFailed(ctx context.Context, err error) error {
	if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		b.fail(errors.Join(ErrAway, err))
	}
	select { // without a connection it fails at once
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
	return ctx.Err()
}

func delivery(msg jetstream.Msg, generation string) *Delivery {
	d := &Delivery{msg: msg, Stream: generation}
	d.Batch, d.Err = decode(msg.Data())
	meta, err := msg.Metadata()
	if err != nil {
		d.Err = errors.Join(fmt.Errorf("%w: %w", ErrUnreadable, err), d.Err)
		return d
	}
	d.Batch.Sequence, d.Delivered, d.At = int64(meta.Sequence.Stream), int(meta.NumDelivered), meta.Timestamp.UTC()
	return d
}

// Ack says that a message is done with. If that is lost it is delivered again.
func (d *Delivery) Ack() error { return d.msg.Ack() }

// Hold asks for more time.
func (d *Delivery) Hold() error { return d.msg.InProgress() }

// Return gives a message back, to be delivered again after a while.
func (d *Delivery) Return(after time.Duration) error { return d.msg.NakWithDelay(after) }
