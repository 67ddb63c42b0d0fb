// Package bus carries batches of events over NATS JetStream, from the nodes that accept
// them to those that write them to the ledger: a replicated log that takes events while
// the database is away.
//
// It implements the ledger's transport, and writes to the ledger what comes by it: a [Conn] is
// the connection, a [Consumer] writes batches. The ledger decides when a batch is published.
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names of what there is on the servers.
const (
	Stream           = "RECOUP_EVENTS"
	QuarantineStream = "RECOUP_QUARANTINE"
	Durable          = "recoup-ledger" // the consumer that all nodes share

	subject           = "recoup.events"
	quarantineSubject = "recoup.quarantine"

	inbox = "_INBOX.recoup" // where answers come, so that a user needs to hear no others
)

// The errors by which callers decide, to be distinguished with errors.Is.
var (
	// ErrAway is returned while the bus cannot be used, and when nothing was sent.
	ErrAway = errors.New("the bus is away")

	// ErrUnknown is returned when a batch was sent and nobody knows whether it was stored.
	// Publishing it again under its id does no harm.
	ErrUnknown = errors.New("the bus has not acknowledged the batch")

	// ErrNotFound is returned for a message that is not in quarantine.
	ErrNotFound = errors.New("not in quarantine")

	// ErrUnfit is returned for servers, or a stream, that would lose acknowledged events.
	ErrUnfit = errors.New("the bus is not fit for use")
)

// Options of a [Conn]. URL is required.
type Options struct {
	URL          string   // nats://… or tls://…, several with commas between them
	Credentials  string   // file with a user's credentials; empty: those of the URL
	CA           string   // file with the certificates of whoever signed the servers'
	Cert, Key    string   // files of the client's certificate; empty: none
	Single       bool     // one replica is enough, for trials
	MaxBytes     int64    // of the stream, if it is made here; 8 GiB
	Monitors     []string // http://… of the servers' monitoring
	Name         string   // of the node, for the servers' lists
	Logger       *slog.Logger
	AckTimeout   time.Duration // how long a publish waits for its acknowledgement; 5 s
	AckWait      time.Duration // after which an unacknowledged message is delivered again; 10 s
	ProbeEvery   time.Duration // while the bus is away; 500 ms
	ConnectLimit time.Duration // how long Open waits for the first connection; 3 s
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{{&o.AckTimeout, 5 * time.Second}, {&o.AckWait, 10 * time.Second}, {&o.ProbeEvery, 500 * time.Millisecond}, {&o.ConnectLimit, 3 * time.Second}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 8 << 30
	}
	return o
}

// replicas is how many copies there are of everything.
func (o Options) replicas() int {
	if o.Single {
		return 1
	}
	return 3
}

// Conn is a connection to the servers. It is safe for concurrent use.
type Conn struct {
	o    Options
	conn *nats.Conn
	js   jetstream.JetStream
	stop context.CancelFunc
	done chan struct{}

	mu         sync.Mutex
	up         bool
	cause      error  // why it is not up
	generation string // the stream's name and when it was made: its sequences are its own
	consumer   jetstream.Consumer
	changed    chan struct{} // closed whenever up changes

	attempt    error                   // why the last connection could not be made
	denial     error                   // the permission that was found missing last
	endPrepare context.CancelCauseFunc // of what prepare waits for
}

// Open connects to the servers and makes sure of the stream. Servers that do not answer
// in time are tried again for as long as the bus is open; what is wrong with those that
// do is returned as [ErrUnfit].
func Open(ctx context.Context, o Options) (*Conn, error) {
	o = o.withDefaults()
	if err := o.CheckFiles(); err != nil {
		return nil, err
	}
	b := &Conn{o: o, done: make(chan struct{}), changed: make(chan struct{}), cause: ErrAway}
	var err error
	if b.conn, err = nats.Connect(strings.Join(o.addresses(), ","), b.options()...); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	if b.js, err = jetstream.New(b.conn, jetstream.WithDefaultTimeout(o.AckTimeout)); err != nil {
		b.conn.Close()
		return nil, fmt.Errorf("bus: %w", err)
	}
	if err := b.first(ctx); err != nil {
		b.conn.Close()
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	go b.probe(life)
	return b, nil
}

func (o Options) addresses() (list []string) {
	for part := range strings.SplitSeq(o.URL, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return list
}

func (b *Conn) options() []nats.Option {
	list := []nats.Option{
		nats.Name("recoup " + b.o.Name), nats.Timeout(2 * time.Second), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.ReconnectBufSize(-1),   // what cannot be sent is not sent later
		nats.IgnoreAuthErrorAbort(), // who is refused may be let in later
		nats.CustomInboxPrefix(inbox),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { b.fail(away(b.o.explain(err))) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.attempted(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.denied(err) }),
	}
	if b.o.Credentials != "" {
		list = append(list, nats.UserCredentials(b.o.Credentials))
	}
	if b.o.CA != "" {
		list = append(list, nats.RootCAs(b.o.CA))
	}
	if b.o.Cert != "" {
		list = append(list, nats.ClientCert(b.o.Cert, b.o.Key))
	}
	return list
}

// first waits for the first connection, for a while.
func (b *Conn) first(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.o.ConnectLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := b.prepare(ctx)
		switch {
		case err == nil, errors.Is(err, ErrUnfit) && !errors.Is(err, errUnplaced):
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(err, errUnplaced) {
				return err
			}
			if b.fail(err); !errors.Is(err, ErrRefused) {
				b.o.Logger.Warn("bus unavailable; events go to the database directly until it answers", "cause", err)
			}
			return nil
		case <-tick.C:
		}
	}
}

// probeLimit bounds one look at whether the bus can be used. Servers that elect a leader
// answer nothing to what they were asked before: it is to be asked again.
const probeLimit = 2 * time.Second

// probe brings the bus back once it can be used again.
func (b *Conn) probe(ctx context.Context) {
	defer close(b.done)
	tick := time.NewTicker(b.o.ProbeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if b.Up() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, min(b.o.AckTimeout, probeLimit))
		if err := b.prepare(limited); err != nil {
			b.fail(err)
		}
		cancel()
	}
}

// Up reports whether the bus takes batches.
func (b *Conn) Up() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.up
}

// fail notes that the bus cannot be used.
func (b *Conn) fail(cause error) {
	b.mu.Lock()
	was := b.up
	refused := errors.Is(cause, ErrUnfit) && !errors.Is(b.cause, ErrUnfit) || errors.Is(cause, ErrRefused) && !errors.Is(b.cause, ErrRefused)
	b.up, b.cause = false, cause
	if was {
		close(b.changed)
		b.changed = make(chan struct{})
	}
	b.mu.Unlock()
	switch {
	case refused:
		b.o.Logger.Error("bus refused; events go to the database directly", "cause", cause)
	case was:
		b.o.Logger.Warn("bus unavailable; events go to the database directly", "cause", cause)
	}
}

// ready notes that it can be.
func (b *Conn) ready(generation string, consumer jetstream.Consumer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.up {
		close(b.changed)
		b.changed = make(chan struct{})
		b.denial = nil
		b.o.Logger.Info("bus available", "server", b.conn.ConnectedServerVersion(), "stream", generation)
	}
	b.up, b.cause, b.attempt, b.generation, b.consumer = true, nil, nil, generation, consumer
}

// line returns where batches come from and what is closed when that changes; while the
// bus is away no consumer, and why.
func (b *Conn) line() (consumer jetstream.Consumer, changed <-chan struct{}, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.up {
		return nil, b.changed, b.cause
	}
	return b.consumer, b.changed, nil
}

// away is an error that says that the bus is.
func away(err error) error {
	if errors.Is(err, ErrAway) {
		return err
	}
	return errors.Join(ErrAway, err)
}

// Generation names the stream and when it was made.
func (b *Conn) Generation() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.generation
}

// Close ends the connection.
func (b *Conn) Close() {
	b.stop()
	<-b.done
	b.conn.Close()
}
