package app

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// newLedger opens the ledger, with room for what comes.
func (n *Node) newLedger(ctx context.Context, keys *tenantKeys, registry *fault.Registry, p *policy.Policy, ids *recoup.IDSource) (*ledger.Ledger, error) {
	if err := keys.begin(ctx); err != nil {
		return nil, err
	}
	s, now := n.store, n.o.Now()
	switch err := s.EnsurePartitions(ctx, now); {
	case errors.Is(err, store.ErrNotDropped): // the job "partitions" retries it
		n.o.Logger.Warn("old partitions could not be dropped; this will be retried", "cause", err)
	case err != nil:
		return nil, err
	}
	if err := s.EnsureEventPartitions(ctx, now, p.Ledger.EventRetention); err != nil {
		return nil, err
	}
	o := ledger.Options{Store: s, Now: n.o.Now, Random: jitter, Logger: n.o.Logger}
	if n.transport != nil {
		o.Transport, o.Batches, o.IDs = n.transport, n.batches(), ids
	}
	return ledger.New(
		ledger.GovernorOptions{Registry: registry, Providers: fault.DefaultProviders(), Tenants: keys.ring, IDs: ids, Rules: ledgerRules(p)}, o)
}

// ledgerRules is what a policy says of events.
func ledgerRules(p *policy.Policy) ledger.Rules {
	l := &p.Ledger
	keys := make([]string, len(l.Details))
	for i := range l.Details {
		keys[i] = l.Details[i].Key
	}
	return ledger.Rules{Retention: l.EventRetention, Details: redact.EventDetails().Only(keys, l.MaxValueBytes, l.MaxBytes)}
}
