package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// leastWait is the least that a caller is asked to wait before it comes back.
const leastWait = time.Second

// Writer gathers the events of many producers into batches and adds them to the
// store. It holds on to what it accepted until that is committed, through failures
// of the database, in bounded memory. It is safe for concurrent use.
type Writer struct {
	o Options

	life   context.Context // ends when closing may wait no longer
	cancel context.CancelFunc
	done   chan struct{} // closed once every goroutine has ended

	mu      sync.Mutex
	ready   sync.Cond   // a batch can be taken, or there will be none
	timer   *time.Timer // makes what is queued ripe
	armed   bool        // the timer runs, or has
	ripe    bool        // what is queued has waited long enough
	closed  bool
	queue   []*Receipt // those of which something is still to be taken
	queued  int        // their events
	urgent  int        // those of them that somebody waits for
	flying  []*batch   // one of each flusher
	held    int        // events accepted, and neither written nor lost
	bytes   int64      // of those
	sums    sums
	trouble trouble
	undrawn trouble // of writing drops down, where events take another way

	lanes chan struct{} // of inserts while the transport is away
}

// NewWriter returns a writer that runs until it is closed.
func NewWriter(o Options) (*Writer, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Writer{o: o, done: make(chan struct{}), lanes: make(chan struct{}, o.Flushers)}
	w.life, w.cancel = context.WithCancel(context.Background())
	w.ready.L = &w.mu
	w.timer = time.AfterFunc(time.Hour, w.ripen)
	w.timer.Stop()
	flushers := o.Flushers
	if o.Transport != nil {
		flushers = max(flushers, o.Publishers)
	}
	for range flushers {
		w.flying = append(w.flying, &batch{})
	}
	go w.run()
	return w, nil
}

// run ends when the flushers have: then what was dropped is known, and written.
func (w *Writer) run() {
	defer close(w.done)
	defer w.cancel()
	var flushers sync.WaitGroup
	for _, b := range w.flying {
		flushers.Go(func() { w.flushAll(b) })
	}
	drained := make(chan struct{})
	go func() {
		flushers.Wait()
		close(drained)
	}()
	w.writeDrops(drained)
}

// Append accepts events, all or none of them, and returns at once. They must not be
// changed afterwards. What it accepted is written as soon as the store can; the
// receipt's Wait returns when it is.
//
// It returns a [*fault.Error]: DATABASE_CONNECTION_ERROR if there is no more room
// because the database is away, STORAGE_FULL if its disk is full, TEMPORARY_UNAVAILABLE if it
// refuses the node, RATE_LIMIT_EXCEEDED while
// the transport is full, SERVICE_OVERLOADED if there is none because the database is slower than its callers, TEMPORARY_UNAVAILABLE once the writer is
// closed, each with the time to wait, and PAYLOAD_TOO_LARGE for a batch that will
// never fit. If ctx has ended it returns the context's error.
func (w *Writer) Append(ctx context.Context, events []store.Event) (*Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("append events: %w", err)
	}
	r := &Receipt{w: w, events: events, pending: len(events), total: len(events), at: w.o.Now()}
	bytes := sizes(events)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.room(len(events), bytes); err != nil {
		w.sums.refused += int64(len(events))
		return nil, err
	}
	if len(events) == 0 {
		return r, nil
	}
	w.sums.accepted += int64(len(events))
	w.held += len(events)
	w.bytes += bytes
	w.queued += len(events)
	w.queue = append(w.queue, r)
	switch {
	case w.queued >= w.batchSize():
		w.ready.Signal()
	case !w.armed:
		w.arm(w.o.BatchDelay)
	}
	return r, nil
}

// room says why events cannot be accepted, if they cannot.
func (w *Writer) room(n int, bytes int64) error {
	switch {
	case w.closed:
		return fault.New(fault.CodeTemporaryUnavailable, "The ledger is shutting down.").After(leastWait)
	case n > w.o.MaxEvents || bytes > w.o.MaxBytes:
		return fault.New(fault.CodePayloadTooLarge, "The batch is larger than the ledger's whole buffer.").With("limit", w.o.MaxEvents)
	case w.trouble.code == fault.CodeRateLimitExceeded:
		return transportFull(nil).After(w.trouble.wait())
	case w.held+n <= w.o.MaxEvents && w.bytes+bytes <= w.o.MaxBytes:
		return nil
	case w.trouble.away():
		return w.trouble.fault(nil, "The buffer for events is full.")
	}
	return fault.New(fault.CodeServiceOverloaded, "The ledger has more events to write than it can hold.").After(w.trouble.wait())
}

// arm lets what is queued ripen after a while. The lock is held.
func (w *Writer) arm(d time.Duration) {
	w.armed = true
	w.timer.Reset(d)
}

func (w *Writer) ripen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ripe = w.queued > 0
	w.ready.Signal()
}

// Close accepts nothing more, writes what was accepted, and ends the writer. If ctx
// ends first, it gives the rest up and returns a [*LostError] that says how much
// that is. Closing again waits for the same end.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.ready.Broadcast()
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.cancel()
		<-w.done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	if lost := (LostError{Events: w.sums.broken, Drops: w.o.Tally.pending()}); lost != (LostError{}) {
		return &lost
	}
	return nil
}

// LostError says that a writer was closed before it had written everything: how many
// events that producers do not wait for, at most, and how much of the count of what was
// dropped.
type LostError struct{ Events, Drops int64 }

func (e *LostError) Error() string {
	return fmt.Sprintf("the ledger was closed with %d events and the count of %d drops unwritten", e.Events, e.Drops)
}

// sizes estimates the memory that events take.
func sizes(events []store.Event) (n int64) {
	for i := range events {
		n += size(&events[i])
	}
	return n
}

func size(e *store.Event) int64 {
	const fixed, details = 256, 320 // the struct; a small map with its values
	n := fixed + len(e.Code) + len(e.Service) + len(e.Endpoint) + len(e.Region) + len(e.ExternalService) +
		len(e.ReportedCode) + len(e.TenantHash)
	if e.Details != nil {
		n += details
	}
	return int64(n)
}
