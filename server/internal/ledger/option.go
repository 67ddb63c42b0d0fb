package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Options of a [Writer]. Store, Tally, Now and Random are required; what is zero of
// the rest gets its default.
type Options struct {
	Store  Store
	Tally  *Tally           // what was left out; the governor's, too
	Now    func() time.Time // for ages and days; waiting is done by the runtime's timers
	Random func() float64   // the jitter of retries, in [0, 1)
	Logger *slog.Logger     // nil: says nothing

	// Transport carries events to the nodes that write them, and needs Batches and IDs. Nil:
	// this node writes them. It also does while the transport is away.
	Transport  Transport
	Batches    store.EventBatchWriter
	IDs        *recoup.IDSource // of batches
	Publishers int              // publishes at the same time; 16

	BatchSize   int           // events of one insert at most; 5,000
	BatchDelay  time.Duration // how long events wait for company; 20 ms
	UrgentDelay time.Duration // the same while somebody waits for them; 5 ms
	Flushers    int           // inserts at the same time; 2, so that one can be gathered and sent while another commits
	DropDelay   time.Duration // how often drop counts are written; 1 s

	// MaxEvents and MaxBytes bound what is held in memory, what is being written
	// included; 100,000 and 128 MiB. Bytes are estimated.
	MaxEvents int
	MaxBytes  int64

	WriteLimit time.Duration // of one call of the store; 30 s
	WaitLimit  time.Duration // of one Wait; 10 s

	// Retry says how long to wait after a failure of the store; 50 ms, doubled up
	// to 2 s, with jitter. A failure that can pass is tried again for as long as it
	// takes. MaxRetries bounds how often one that looks permanent is before its
	// events are given up; 40, which is more than a minute, because a database that
	// fails over may look broken for as long.
	Retry retry.Policy
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.BatchSize = cmp.Or(o.BatchSize, 5000)
	o.BatchDelay = cmp.Or(o.BatchDelay, 20*time.Millisecond)
	o.UrgentDelay = cmp.Or(o.UrgentDelay, min(5*time.Millisecond, o.BatchDelay))
	o.Flushers = cmp.Or(o.Flushers, 2)
	o.Publishers = cmp.Or(o.Publishers, 16)
	o.DropDelay = cmp.Or(o.DropDelay, time.Second)
	o.MaxEvents = cmp.Or(o.MaxEvents, 100_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 128<<20)
	o.WriteLimit = cmp.Or(o.WriteLimit, 30*time.Second)
	o.WaitLimit = cmp.Or(o.WaitLimit, 10*time.Second)
	if o.Retry.Schedule.Kind == "" {
		o.Retry = retry.Policy{MaxRetries: 40, RetryAfter: retry.Ignore, Schedule: retry.Schedule{
			Kind: retry.Exponential, Base: 50 * time.Millisecond, Multiplier: 2, Cap: 2 * time.Second, Jitter: retry.Additive,
		}}
	}
	return o
}

func (o Options) validate() error {
	if o.Store == nil || o.Tally == nil || o.Now == nil || o.Random == nil {
		return errors.New("ledger: a writer needs a store, a tally, a clock and a source of jitter")
	}
	if o.Transport != nil && (o.Batches == nil || o.IDs == nil) {
		return errors.New("ledger: a writer with a transport needs a store of batches and a source of ids")
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"BatchSize", int64(o.BatchSize)}, {"BatchDelay", int64(o.BatchDelay)}, {"UrgentDelay", int64(o.UrgentDelay)},
		{"Flushers", int64(o.Flushers)}, {"Publishers", int64(o.Publishers)}, {"DropDelay", int64(o.DropDelay)}, {"MaxEvents", int64(o.MaxEvents)},
		{"MaxBytes", o.MaxBytes}, {"WriteLimit", int64(o.WriteLimit)}, {"WaitLimit", int64(o.WaitLimit)},
	} {
		if bound.value <= 0 {
			return fmt.Errorf("ledger: %s must be above zero", bound.name)
		}
	}
	if err := o.Retry.Validate(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
