package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

// EmitterOptions configure an [Emitter]. Client is required; all else has a default.
type EmitterOptions struct {
	Client *Client

	Buffer   int           // events that wait in memory, and as many that wait to be sent; default 8192
	Batch    int           // events of a request; default 500, at most 10000
	Interval time.Duration // how long an event waits for others; default 1 s

	// Spool is a folder of the emitter's own, in which events wait until they are
	// delivered, also across restarts of the program. Empty: there is none. The
	// files are readable by their owner alone; they hold what events hold, tenants
	// included.
	Spool      string
	SpoolBytes int64 // most that it may take; default 64 MiB

	Logger *slog.Logger // for failures; nil: none
}

func (o EmitterOptions) withDefaults() EmitterOptions {
	if o.Buffer == 0 {
		o.Buffer = 8192
	}
	if o.Batch == 0 {
		o.Batch = 500
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.SpoolBytes == 0 {
		o.SpoolBytes = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o EmitterOptions) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("client: an emitter needs a client")
	case o.Client.o.Service == "":
		return errors.New("client: an emitter needs the name of the service: set Options.Service of its client")
	case o.Buffer < 1 || o.Batch < 1 || o.Batch > 10000 || o.Interval < 0 || o.SpoolBytes < 1:
		return errors.New("client: buffer, batch, interval and spool bytes must be positive, a batch at most 10000")
	}
	return nil
}

// Emitter sends events to the ledger in the background. It is safe for
// concurrent use. Events that it drops are counted, and the count is sent to the
// server.
type Emitter struct {
	c       *Client
	o       EmitterOptions
	backlog *backlog
	counter *counter

	mu      sync.Mutex
	buffer  []recoup.Event
	closed  bool
	stats   EmitterStats
	unsent  int64 // drops not yet reported to the server
	began   chan struct{}
	filled  chan struct{}
	arrived chan struct{} // there is something to send
	hurry   chan struct{} // somebody waits for it

	collecting sync.Mutex // held by who takes events out of the buffer
	spare      []recoup.Event

	stop context.CancelFunc
	done sync.WaitGroup
}

// EmitterStats counts events by outcome: each was dropped, delivered or refused by
// the server, or is waiting.
type EmitterStats struct {
	Emitted   int64 // calls of Emit
	Dropped   int64 // no room, not JSON, or emitted after Close
	Delivered int64 // the server has them
	Refused   int64 // the server refused them
	Failures  int64 // requests that failed
	Waiting   int64 // in memory or in the spool, those of earlier processes included
}

// UndeliveredError says that events could not be delivered in time.
type UndeliveredError struct {
	Events  int
	Spooled bool // they are safe in the spool
	Err     error
}

func (e *UndeliveredError) Error() string {
	where := "in memory"
	if e.Spooled {
		where = "in the spool"
	}
	return fmt.Sprintf("%d events are not delivered and wait %s: %v", e.Events, where, e.Err)
}

// Unwrap returns why they were not delivered.
func (e *UndeliveredError) Unwrap() error { return e.Err }

// NewEmitter starts an emitter, which first sends what an earlier process has
// left in the spool. It must be closed.
func NewEmitter(o EmitterOptions) (*Emitter, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := &Emitter{
		c: o.Client, o: o, backlog: newBacklog(o.Batch, o.Buffer), counter: newCounter(o.Client),
		buffer: make([]recoup.Event, 0, o.Buffer), spare: make([]recoup.Event, 0, o.Buffer),
		began: make(chan struct{}, 1), filled: make(chan struct{}, 1), arrived: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
	}
	m.backlog.onDisk = func(err error) { m.o.Logger.Warn("the spool fails; events wait in memory", "error", err) }
	if o.Spool != "" {
		if err := m.backlog.open(o.Spool, o.SpoolBytes); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.done.Go(func() { m.collectAll(ctx) })
	m.done.Go(func() { m.deliverAll(ctx) })
	m.done.Go(func() { m.counter.run(ctx) })
	return m, nil
}

// Emit queues an event. It never blocks and allocates nothing; if the buffer is full,
// the event is dropped and counted. An event without a time gets the current one. Its
// details must not be changed afterwards.
func (m *Emitter) Emit(e recoup.Event) {
	if e.TS.IsZero() {
		e.TS = m.c.o.Now()
	}
	m.mu.Lock()
	m.stats.Emitted++
	n := len(m.buffer)
	if m.closed || n == cap(m.buffer) {
		m.drop(1)
		m.mu.Unlock()
		return
	}
	m.buffer = append(m.buffer, e)
	m.mu.Unlock()
	if n == 0 {
		signal(m.began)
	}
	if n+1 == m.o.Batch {
		signal(m.filled)
	}
}

// drop counts. The lock is held.
func (m *Emitter) drop(n int) {
	m.stats.Dropped += int64(n)
	m.unsent += int64(n)
}

// signal wakes whoever waits on a channel with room for one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Flush returns once everything emitted before it is delivered and counts are sent.
// It returns an [*UndeliveredError] when ctx ends, or when the server refuses in a
// way that waiting does not fix. Serverless programs call it before they are frozen.
func (m *Emitter) Flush(ctx context.Context) error {
	m.collect()
	since := m.backlog.mark()
	signal(m.hurry)
	return errors.Join(m.backlog.await(ctx, since), m.counter.flush(ctx))
}

// Close stops accepting events, delivers what it has until ctx ends, and stops all
// goroutines of the emitter before it returns. What it could not deliver is lost,
// unless there is a spool, and is reported as an [*UndeliveredError].
func (m *Emitter) Close(ctx context.Context) error {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	err := m.Flush(ctx)
	m.stop()
	m.done.Wait()
	return errors.Join(err, m.backlog.close())
}

// Stats returns the counts so far.
func (m *Emitter) Stats() EmitterStats {
	waiting := m.backlog.waiting()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Waiting = waiting + int64(len(m.buffer))
	return s
}
