package app

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/ledger"
)

// How long a stop takes at most, beyond the grace that running requests have. The sum is
// below the 30 seconds that process managers wait, if the grace is the default.
const (
	writeLimit   = 5 * time.Second // for accepted events, and what is left of the grace
	signOffLimit = 2 * time.Second // for leases, figures and deliveries
	closeLimit   = time.Second     // for connections
)

// Hurry ends the grace of a stop: running requests and deliveries are cut off. What was
// accepted is still written.
func (n *Node) Hurry() { n.hurry.Do(func() { close(n.hurried) }) }

// finish waits for running requests and deliveries, for as long as the grace allows, and
// cuts off the rest. None of those was acknowledged.
func (n *Node) finish(ctx context.Context, server *http.Server, open *connections) {
	graceful, cancel := n.grace(ctx, 0)
	defer cancel()
	var delivering sync.WaitGroup
	delivering.Go(func() { n.step(graceful, "deliveries", n.pusher.Drain) })
	if err := open.drain(graceful, server); err != nil {
		n.o.Logger.Warn("requests were cut off: they ran longer than the grace", "grace", n.o.Grace, "cause", err)
		_ = server.Close()
	}
	delivering.Wait()
}

// grace returns a context that ends a while after the grace does.
func (n *Node) grace(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(ctx, n.o.Grace+after)
	go func() {
		select {
		case <-n.hurried:
			_ = retry.Sleep(limited, after)
			cancel()
		case <-limited.Done():
		}
	}()
	return limited, cancel
}

// close writes what was accepted, signs off and closes the store, of a node that may not
// be assembled completely. It returns an error only if an acknowledged event is lost.
func (n *Node) close(ctx, writing context.Context) error {
	err := n.writeAccepted(writing)
	n.signOff(ctx)
	if n.transport != nil {
		n.transport.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	n.step(ctx, "traces", n.traces.close)
	n.step(ctx, "store", func(context.Context) error { return n.store.Close() })
	return err
}

// writeAccepted writes the events that were accepted and not written yet.
func (n *Node) writeAccepted(ctx context.Context) error {
	if n.ledger == nil {
		return nil
	}
	err := n.ledger.Close(ctx)
	if lost := (*ledger.LostError)(nil); errors.As(err, &lost) && lost.Events == 0 {
		n.o.Logger.Warn("count of dropped events was not written", "cause", err)
		return nil
	}
	return err
}

// signOff releases what the node holds in the database. What it cannot release expires.
func (n *Node) signOff(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, signOffLimit)
	defer cancel()
	n.step(ctx, "loops", func(context.Context) error { n.loops.Wait(); return nil })
	steps := map[string]func(context.Context) error{"leadership": n.resign}
	if n.notifier != nil {
		steps["notifications"] = func(context.Context) error { n.notifier.Wait(); return nil } // its context has ended, or it never ran
	}
	if n.pusher != nil {
		steps["deliveries"] = n.pusher.Drain
	}
	if n.api != nil && !n.o.Standby {
		steps["key use"], steps["workers"] = n.api.FlushKeyUse, n.heartbeats.Flush
	}
	for _, s := range n.slices {
		if s.Close != nil {
			steps[s.name] = s.Close
		}
	}
	var all sync.WaitGroup
	for name, run := range steps {
		all.Go(func() { n.step(ctx, name, run) })
	}
	all.Wait()
}

// step runs one part of a stop and logs its failure. It does not wait longer than ctx: a
// database that does not answer must not keep the process.
func (n *Node) step(ctx context.Context, name string, run func(context.Context) error) {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended: // both
		default:
			err = ctx.Err()
		}
	}
	if err != nil {
		n.o.Logger.Warn("part of the stop failed; nothing acknowledged is lost", "part", name, "cause", err)
	}
}
