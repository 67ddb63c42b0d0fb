package bus

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Consumer writes to the ledger what comes by the bus. A batch is acknowledged once it is
// committed: if that gets lost it comes again, and adds nothing.
type Consumer struct {
	Bus    *Conn
	Store  store.EventBatchWriter
	Now    func() time.Time
	Random func() float64
	Logger *slog.Logger

	// Inspect says why events that the bus has stored at a time cannot have been governed;
	// see ledger.Ledger.
	Inspect func(stored time.Time, events []store.Event) error

	written, duplicates, quarantined, failures atomic.Int64
}

// How a consumer works.
const (
	lanes      = 2                // fetches and transactions at the same time
	together   = 10               // batches in one transaction
	holdEvery  = 3 * time.Second  // how often it asks for more time; see Options.AckWait
	writeLimit = 20 * time.Second // of one transaction

	// maxFailures is how often a batch fails, by its own fault, before it is put in
	// quarantine. That the database is away is no batch's fault.
	maxFailures = 5
)

// again is how long it waits after a failure: 200 ms, doubled up to 5 s. After one that
// looks permanent, and is not the batch's, it waits for brokenWait: a database that fails
// over may look broken for a minute.
var again = retry.Schedule{Kind: retry.Exponential, Base: 200 * time.Millisecond, Multiplier: 2, Cap: 5 * time.Second, Jitter: retry.Additive}

const brokenWait = 15 * time.Second

// ConsumerStats is what a consumer has done.
type ConsumerStats struct {
	Written, Duplicates int64 // events
	Quarantined         int64 // batches
	Failures            int64 // tries that failed and were repeated
}

// Stats returns what is known at this moment.
func (c *Consumer) Stats() ConsumerStats {
	return ConsumerStats{c.written.Load(), c.duplicates.Load(), c.quarantined.Load(), c.failures.Load()}
}

// Run writes batches until ctx ends. What it is writing then it brings to an end, or gives
// back.
func (c *Consumer) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range lanes {
		running.Go(func() {
			for ctx.Err() == nil {
				if list, err := c.Bus.Fetch(ctx, together); err == nil && len(list) > 0 {
					c.deliver(ctx, list)
				}
			}
		})
	}
	running.Wait()
}

// deliver brings messages to an end, while it keeps them from being given to others.
func (c *Consumer) deliver(ctx context.Context, list []*Delivery) {
	held, done := context.WithCancel(context.Background())
	defer done()
	go hold(held, list)
	var good, bad []*Delivery
	for _, d := range list {
		if d.Err == nil { // by the clock of the bus: this node's may be wrong
			d.Err = c.Inspect(d.At, d.Batch.Events)
		}
		switch {
		case d.Err == nil:
			good = append(good, d)
		case d.Delivered < maxFailures: // another replica may have it whole, another node know better
			c.failures.Add(1)
			_ = d.Return(time.Second)
		default:
			bad = append(bad, d)
		}
	}
	if len(good) > 0 {
		c.write(ctx, good)
	}
	for _, d := range bad {
		c.quarantine(ctx, d, d.Err.Error())
	}
}

// hold asks for more time, again and again.
func hold(ctx context.Context, list []*Delivery) {
	for retry.Sleep(ctx, holdEvery) == nil {
		for _, d := range list {
			_ = d.Hold()
		}
	}
}

// write writes batches in one transaction and acknowledges them. Where one of several is
// at fault, each is written by itself.
func (c *Consumer) write(ctx context.Context, list []*Delivery) {
	for n, faults := 1, 0; ; n++ {
		err := c.try(ctx, list)
		if err == nil {
			each(list, (*Delivery).Ack)
			return
		}
		c.failures.Add(1)
		verdict, wait := ledger.Judge(err), again.Delay(n, c.Random)
		if ledger.Poisonous(err) || !ledger.Passing(verdict) {
			if faults++; len(list) > 1 || faults >= maxFailures {
				c.giveUp(ctx, list, string(verdict.Code))
				return
			}
			if !ledger.Poisonous(err) {
				wait = brokenWait
			}
		}
		if n == 1 {
			c.Logger.Warn("bus: batches cannot be written; they wait", "batches", len(list), "code", string(verdict.Code), "cause", err)
		}
		if retry.Sleep(ctx, wait) != nil {
			each(list, func(d *Delivery) error { return d.Return(0) })
			return
		}
	}
}

// each answers deliveries. An answer that is lost is a delivery that comes again.
func each(list []*Delivery, answer func(*Delivery) error) {
	for _, d := range list {
		_ = answer(d)
	}
}

// giveUp writes each of several batches by itself, and puts one alone in quarantine.
func (c *Consumer) giveUp(ctx context.Context, list []*Delivery, reason string) {
	if len(list) == 1 {
		c.quarantine(ctx, list[0], reason)
		return
	}
	for _, d := range list {
		c.write(ctx, []*Delivery{d})
	}
}

// try writes batches once, also if ctx ends meanwhile.
func (c *Consumer) try(ctx context.Context, list []*Delivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer cancel()
	batches, events := make([]store.EventBatch, len(list)), 0
	for i, d := range list {
		batches[i] = d.Batch
		events += len(d.Batch.Events)
	}
	added, err := c.Store.WriteEventBatches(ctx, list[0].Stream, batches)
	if err == nil {
		c.written.Add(int64(added))
		c.duplicates.Add(int64(events - added))
	}
	return err
}

// quarantine puts a batch where an operator finds it, notes its sequence, so that there is
// no gap, and acknowledges it. It tries until ctx ends.
func (c *Consumer) quarantine(ctx context.Context, d *Delivery, reason string) {
	c.Logger.Error("bus: batch put in quarantine", "sequence", d.Batch.Sequence, "batch", d.Batch.ID.String(), "events", len(d.Batch.Events), "reason", reason)
	for n := 1; ; n++ {
		err := c.Bus.Quarantine(ctx, d, reason, c.Now())
		if err == nil {
			_, err = c.Store.WriteEventBatches(ctx, d.Stream, []store.EventBatch{{Sequence: d.Batch.Sequence}})
		}
		if err == nil {
			c.quarantined.Add(1)
			_ = d.Ack()
			return
		}
		if retry.Sleep(ctx, again.Delay(n, c.Random)) != nil {
			return
		}
	}
}
