package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Book is the ledger as those see it who add to it: a governor, which is replaced
// when codes or the policy change, before a writer.
type Book struct {
	options  GovernorOptions
	governor atomic.Pointer[Governor]
	writer   *Writer
}

// NewBook makes a book. What is left out is counted by one tally, which it makes.
func NewBook(g GovernorOptions, o Options) (*Book, error) {
	g.Tally = NewTally()
	o.Tally = g.Tally
	b := &Book{options: g}
	if err := b.Follow(g.Registry, g.Rules); err != nil {
		return nil, err
	}
	var err error
	if b.writer, err = NewWriter(o); err != nil {
		return nil, err
	}
	return b, nil
}

// Follow makes the governor go by another registry or other rules.
func (b *Book) Follow(registry *fault.Registry, rules Rules) error {
	o := b.options
	o.Registry, o.Rules = registry, rules
	governor, err := NewGovernor(o)
	if err == nil {
		b.governor.Store(governor)
	}
	return err
}

// Check says what is wrong with an event.
func (b *Book) Check(now time.Time, in *Incoming) error { return b.governor.Load().Check(now, in) }

// Govern decides about what clients sent.
func (b *Book) Govern(ctx context.Context, now time.Time, batch []Incoming) (Governed, error) {
	return b.governor.Load().Govern(ctx, now, batch)
}

// Keep says what is stored of events together with the act that they record.
func (b *Book) Keep(ctx context.Context, now time.Time, events []recoup.Event) ([]*store.Event, error) {
	return b.governor.Load().Keep(ctx, now, events)
}

// Inspect says why events that came by the transport cannot have been governed.
func (b *Book) Inspect(now time.Time, events []store.Event) error {
	return b.governor.Load().Inspect(now, events)
}

// Transport is what carries events to those who write them; nil: they are written here.
func (b *Book) Transport() Transport { return b.writer.o.Transport }

// Append hands events to the writer.
func (b *Book) Append(ctx context.Context, events []store.Event) (*Receipt, error) {
	return b.writer.Append(ctx, events)
}

// TenantHashes returns the hashes that a tenant may have in the ledger.
func (b *Book) TenantHashes(tenant string) []string { return b.options.Tenants.TenantHashes(tenant) }

// CountDropped notes what a client could not send.
func (b *Book) CountDropped(now time.Time, reason string, n int64) {
	b.options.Tally.Add(now, reason, n)
}

// Stats says how the writer is doing.
func (b *Book) Stats() Stats { return b.writer.Stats() }

// Close writes what there is, and ends the writer.
func (b *Book) Close(ctx context.Context) error { return b.writer.Close(ctx) }
