package app

import (
	"context"

	"recoup"
	"recoup/fault"
	"recoup/internal/ledger"
	"recoup/internal/policy"
)

// newBook opens the ledger, with room for what comes.
func newBook(ctx context.Context, s Store, keys *tenantKeys, registry *fault.Registry, p *policy.Policy, ids *recoup.IDSource, o Options) (*ledger.Book, error) {
	if err := keys.begin(ctx); err != nil {
		return nil, err
	}
	now := o.Now()
	if err := s.EnsurePartitions(ctx, now); err != nil {
		return nil, err
	}
	if err := s.EnsureEventPartitions(ctx, now, p.Ledger.EventRetention); err != nil {
		return nil, err
	}
	return ledger.NewBook(
		ledger.GovernorOptions{Registry: registry, Providers: fault.DefaultProviders(), Tenants: keys.ring, IDs: ids, Retention: p.Ledger.EventRetention},
		ledger.Options{Store: s, Now: o.Now, Random: jitter, Logger: o.Logger})
}
