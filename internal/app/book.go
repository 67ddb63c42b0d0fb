package app

import (
	"context"
	"sync/atomic"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/ledger"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// guarded is a value that is replaced whole.
type guarded[T any] struct{ atomic.Pointer[T] }

// guide is what the ledger's governor goes by.
type guide struct {
	registry *fault.Registry
	policy   *policy.Policy
}

// book is the ledger as the API and the engine see it.
type book struct {
	governor guarded[*ledger.Governor]
	tenants  *ledger.Tenants
	tally    *ledger.Tally
	writer   *ledger.Writer
	remake   func(guide) (*ledger.Governor, error)
}

func newBook(ctx context.Context, s Store, keys *tenantKeys, registry *fault.Registry, policies *engine.Policies, ids *recoup.IDSource, o Options) (*book, error) {
	if err := keys.begin(ctx); err != nil {
		return nil, err
	}
	tenants := keys.ring
	b := &book{tenants: tenants, tally: ledger.NewTally()}
	b.remake = func(g guide) (*ledger.Governor, error) {
		return ledger.NewGovernor(ledger.GovernorOptions{
			Registry: g.registry, Providers: fault.DefaultProviders(), Tenants: tenants, IDs: ids,
			Retention: g.policy.Ledger.EventRetention, Tally: b.tally,
		})
	}
	if err := b.follow(guide{registry, policies.Current()}); err != nil {
		return nil, err
	}
	now := o.Now()
	if err := s.EnsurePartitions(ctx, now); err != nil {
		return nil, err
	}
	if err := s.EnsureEventPartitions(ctx, now, policies.Current().Ledger.EventRetention); err != nil {
		return nil, err
	}
	writer, err := ledger.NewWriter(ledger.Options{Store: s, Tally: b.tally, Now: o.Now, Random: jitter, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	b.writer = writer
	return b, nil
}

// follow makes the governor go by another registry or policy.
func (b *book) follow(g guide) error {
	governor, err := b.remake(g)
	if err == nil {
		b.governor.Store(&governor)
	}
	return err
}

// Check says what is wrong with an event.
func (b *book) Check(now time.Time, in *ledger.Incoming) error {
	return (*b.governor.Load()).Check(now, in)
}

// Govern decides about what clients sent.
func (b *book) Govern(now time.Time, batch []ledger.Incoming) ledger.Governed {
	return (*b.governor.Load()).Govern(now, batch)
}

// Append hands events to the writer.
func (b *book) Append(ctx context.Context, events []store.Event) (*ledger.Receipt, error) {
	return b.writer.Append(ctx, events)
}

// Candidates returns the hashes that a tenant may have in the ledger.
func (b *book) Candidates(tenant string) []string { return b.tenants.Candidates(tenant) }

// CountDropped notes what a client could not send.
func (b *book) CountDropped(now time.Time, reason string, n int64) { b.tally.Add(now, reason, n) }

// Keep says what is stored of events together with the act that they tell of.
func (b *book) Keep(now time.Time, events []recoup.Event) []*store.Event {
	return (*b.governor.Load()).Keep(now, events)
}
