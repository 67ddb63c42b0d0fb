package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// The headers of a message in quarantine.
const (
	headerStream   = "Recoup-Stream"
	headerSequence = "Recoup-Sequence"
	headerReason   = "Recoup-Reason"
	headerAt       = "Recoup-At"
)

// Quarantine copies a message to where batches wait for an operator. The message itself
// is still to be acknowledged.
func (b *Conn) Quarantine(ctx context.Context, d *Delivery, reason string, at time.Time) error {
	msg := &nats.Msg{Subject: quarantineSubject, Data: d.msg.Data(), Header: nats.Header{}}
	sequence := strconv.FormatInt(d.Batch.Sequence, 10)
	msg.Header.Set(headerStream, d.Stream)
	msg.Header.Set(headerSequence, sequence)
	msg.Header.Set(headerReason, reason)
	msg.Header.Set(headerAt, at.UTC().Format(time.RFC3339Nano))
	return b.publish(ctx, msg, QuarantineStream, d.Stream+" "+sequence)
}

// Quarantined is a batch that waits for an operator.
type Quarantined struct {
	QuarantinedBatch
	Batch store.EventBatch
	Err   error // why it cannot be read; nil: it can
}

// ListQuarantine returns at most limit batches whose number is above a number, in order.
func (b *Conn) ListQuarantine(ctx context.Context, after int64, limit int) (list []Quarantined, err error) {
	stream, err := b.quarantine(ctx)
	if err != nil {
		return nil, err
	}
	for len(list) < limit {
		msg, err := stream.GetMsg(ctx, uint64(after)+1, jetstream.WithGetMsgSubject(quarantineSubject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, errors.Join(ErrAway, err)
		}
		list = append(list, quarantined(msg))
		after = int64(msg.Sequence)
	}
	return list, nil
}

// FindQuarantined returns one of them.
func (b *Conn) FindQuarantined(ctx context.Context, number int64) (Quarantined, error) {
	stream, err := b.quarantine(ctx)
	if err != nil {
		return Quarantined{}, err
	}
	msg, err := stream.GetMsg(ctx, uint64(number))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return Quarantined{}, fmt.Errorf("batch %d: %w", number, ErrNotFound)
	case err != nil:
		return Quarantined{}, errors.Join(ErrAway, err)
	}
	return quarantined(msg), nil
}

// Release removes a batch from quarantine.
func (b *Conn) Release(ctx context.Context, number int64) error {
	stream, err := b.quarantine(ctx)
	if err != nil {
		return err
	}
	if err := stream.DeleteMsg(ctx, uint64(number)); err != nil {
		if _, gone := b.FindQuarantined(ctx, number); errors.Is(gone, ErrNotFound) {
			return fmt.Errorf("batch %d: %w", number, ErrNotFound)
		}
		return errors.Join(ErrAway, err)
	}
	return nil
}

func (b *Conn) quarantine(ctx context.Context) (jetstream.Stream, error) {
	if consumer, _, cause := b.line(); consumer == nil {
		return nil, errors.Join(ErrAway, cause)
	}
	stream, err := b.js.Stream(ctx, QuarantineStream)
	if err != nil {
		return nil, errors.Join(ErrAway, err)
	}
	return stream, nil
}

func quarantined(msg *jetstream.RawStreamMsg) Quarantined {
	q := Quarantined{QuarantinedBatch: QuarantinedBatch{
		Number: int64(msg.Sequence), Stream: msg.Header.Get(headerStream), Reason: msg.Header.Get(headerReason), Bytes: len(msg.Data),
	}}
	q.Sequence, _ = strconv.ParseInt(msg.Header.Get(headerSequence), 10, 64)
	q.At, _ = time.Parse(time.RFC3339Nano, msg.Header.Get(headerAt))
	if q.Batch, q.Err = decode(msg.Data); q.Err == nil {
		q.BatchID, q.Events, q.Readable = q.Batch.ID, len(q.Batch.Events), true
	}
	return q
}
