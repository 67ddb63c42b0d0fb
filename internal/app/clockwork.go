package app

import (
	"context"
	"errors"
	"time"

	"recoup/internal/store"
)

// What the clock does is done by one node at a time. A leader that dies is
// replaced when its term is over; one that slept does no harm, because every
// deadline is checked again under a lock on its error.
const (
	leadership = "clockwork"
	term       = 10 * time.Second
	sweepStep  = 200
	purgeStep  = 1000
)

// leads reports whether this node leads, and prolongs its term if it does.
func (n *Node) leads(ctx context.Context) (bool, error) {
	now := n.o.Now()
	held, ok, err := n.store.Lead(ctx, store.Bid{Name: leadership, Node: n.name, Now: now, Until: now.Add(term)})
	if ok {
		n.term.Store(&held)
	}
	return ok, err
}

// resign lets another node lead at once.
func (n *Node) resign(ctx context.Context) error {
	if held := n.term.Load(); held != nil {
		return n.store.Resign(ctx, *held)
	}
	return nil
}

// clockwork lets the clock act on every deadline that has come.
func (n *Node) clockwork(ctx context.Context) error {
	var failed []error
	for _, kind := range []store.Deadline{
		store.DueLapse, store.DueWindow, store.DueExpiry, store.DueResolved, store.DueEscalation, store.DueReminder,
	} {
		for {
			led, err := n.leads(ctx)
			if !led || err != nil {
				return errors.Join(append(failed, err)...)
			}
			changed, err := n.engine.Sweep(ctx, kind, sweepStep)
			if err != nil {
				failed = append(failed, err)
			}
			if changed < sweepStep || err != nil {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// retention deletes what has been kept as long as the policy says.
func (n *Node) retention(ctx context.Context) error {
	if led, err := n.leads(ctx); !led || err != nil {
		return err
	}
	now, keep := n.o.Now(), n.engine.Policies.Current().Ledger
	err := n.store.DropEvents(ctx, now.Add(-keep.EventRetention))
	for purged := purgeStep; purged >= purgeStep && err == nil; {
		purged, err = n.store.PurgeRollups(ctx, store.Retention{Hourly: now.Add(-keep.EventRetention), Daily: now.Add(-keep.RollupRetention)}, purgeStep)
	}
	for purged := purgeStep; purged >= purgeStep && err == nil; {
		purged, err = n.store.PurgeArchive(ctx, now, purgeStep)
	}
	return err
}
