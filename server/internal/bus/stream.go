package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MinVersion is the oldest server that is used: before it, a killed server could lose
// whole streams, also with sync always.
const MinVersion = "2.10.23"

// How the stream and its consumer are made.
const (
	keepFor       = 7 * 24 * time.Hour
	remember      = 10 * time.Minute // ids of batches, so that a repeated publish is one message
	maxAckPending = 512
)

// prepare looks at the servers, and makes the streams and the consumer unless they are
// there. Every node does so, at the same time if need be.
func (b *Conn) prepare(ctx context.Context) error {
	if !b.conn.IsConnected() {
		return away(b.unconnected())
	}
	ctx, done := b.deniable(ctx)
	defer done()
	err := b.make(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrRefused) {
		return cause
	}
	return err
}

func (b *Conn) make(ctx context.Context) error {
	if version := b.conn.ConnectedServerVersion(); Older(version, MinVersion) {
		return fmt.Errorf("%w: the server is %s, and servers older than %s can lose streams when they are killed: upgrade it", ErrUnfit, version, MinVersion)
	}
	stream, err := b.ensure(ctx, b.streamConfig())
	if err != nil {
		return err
	}
	if _, err := b.ensure(ctx, b.quarantineConfig()); err != nil {
		return err
	}
	for _, subject := range []string{subject, quarantineSubject} {
		if err := b.mayPublish(ctx, subject); err != nil {
			return away(err)
		}
	}
	consumer, err := b.js.CreateOrUpdateConsumer(ctx, Stream, b.consumerConfig())
	if err != nil {
		return errors.Join(ErrAway, err)
	}
	info := stream.CachedInfo()
	b.ready(Stream+" "+info.Created.UTC().Format(time.RFC3339Nano), consumer)
	return nil
}

func (b *Conn) streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: Stream, Description: "events on their way to Recoup's ledger", Subjects: []string{subject},
		// What is written is acknowledged and goes: the limit is one of what waits.
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		MaxAge: keepFor, MaxBytes: b.o.MaxBytes, MaxMsgSize: maxMessage + 4096, Duplicates: remember,
		Storage: jetstream.FileStorage, Replicas: b.o.replicas(),
	}
}

func (b *Conn) quarantineConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: QuarantineStream, Description: "batches that Recoup's ledger could not write", Subjects: []string{quarantineSubject},
		Discard: jetstream.DiscardNew, MaxBytes: b.o.MaxBytes / 8, Duplicates: remember,
		Storage: jetstream.FileStorage, Replicas: b.o.replicas(),
	}
}

func (b *Conn) consumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: Durable, Description: "writes events to Recoup's ledger; shared by all nodes",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: b.o.AckWait, MaxDeliver: -1, MaxAckPending: maxAckPending,
		DeliverPolicy: jetstream.DeliverAllPolicy, Replicas: b.o.replicas(),
	}
}

// ensure returns a stream, and makes it if there is none. One that could lose what it
// has acknowledged is refused.
func (b *Conn) ensure(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = b.js.CreateStream(ctx, want)
	}
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		switch refused.ErrorCode {
		case noReplicas, insufficientStorage:
			return nil, unfitStream(&want, err)
		case noPeers, insufficientResources: // servers may still be on their way
			return nil, errors.Join(ErrAway, errUnplaced, unfitStream(&want, err))
		}
	}
	if err != nil {
		return nil, errors.Join(ErrAway, err)
	}
	return stream, judge(want, stream.CachedInfo().Config)
}

// What JetStream answers where there are too few servers for the replicas.
const (
	noPeers    jetstream.ErrorCode = 10005
	noReplicas jetstream.ErrorCode = 10074
)

// errUnplaced is what is wrong with servers that may not all be there yet.
var errUnplaced = errors.New("too few servers")

func unfitStream(want *jetstream.StreamConfig, err error) error {
	return fmt.Errorf("%w: stream %s with %d replicas and %d bytes cannot be made (--bus-single asks for one replica, --bus-limit for other bytes): %w",
		ErrUnfit, want.Name, want.Replicas, want.MaxBytes, err)
}

// judge says what is wrong with a stream that somebody else has made.
func judge(want, got jetstream.StreamConfig) error {
	var wrong []string
	if got.Replicas < want.Replicas {
		wrong = append(wrong, fmt.Sprintf("it has %d replicas, expected %d (--bus-single allows one, for trials)", got.Replicas, want.Replicas))
	}
	if got.Storage != want.Storage {
		wrong = append(wrong, fmt.Sprintf("its storage is %v, expected %v", got.Storage, want.Storage))
	}
	if got.Discard != want.Discard {
		wrong = append(wrong, fmt.Sprintf("it discards by %v, expected %v", got.Discard, want.Discard))
	}
	if got.Retention != want.Retention {
		wrong = append(wrong, fmt.Sprintf("its retention is %v, expected %v", got.Retention, want.Retention))
	}
	if want.MaxAge > 0 && got.MaxAge > 0 && got.MaxAge < want.MaxAge {
		wrong = append(wrong, fmt.Sprintf("it keeps messages for %v, expected %v", got.MaxAge, want.MaxAge))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w: stream %s: %s", ErrUnfit, want.Name, strings.Join(wrong, "; "))
	}
	return nil
}

// Older reports whether a version of a server is older than another. One that cannot be
// read is.
func Older(version, than string) bool {
	a, b := parts(version), parts(than)
	for i := range b {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func parts(version string) (list [3]int) {
	number, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	for i, part := range strings.SplitN(number, ".", len(list)) {
		list[i], _ = strconv.Atoi(part)
	}
	return list
}
