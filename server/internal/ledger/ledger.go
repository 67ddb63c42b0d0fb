// Package ledger turns failures that clients report into rows of spec 003's
// error_event. The [Governor] decides what may be stored of an event, [Tenants]
// hides whose it was, and the [Writer] gathers events of many producers into
// batches and keeps them until they are committed. What is left out on the way is
// counted in a [Tally], so that totals stay honest. A [Ledger] joins these parts.
//
// It knows events and a store that adds them. It knows nothing of HTTP, of keys
// and roles, or of which database there is, and it reads no clock but the one it
// is given.
package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Ledger accepts events: a governor checks and cleans them, and a writer stores them. The governor is
// replaced when codes or the policy change.
type Ledger struct {
	options  GovernorOptions
	governor atomic.Pointer[Governor]
	writer   *Writer
}

// New opens a ledger. The governor and the writer count what they leave out in one tally.
func New(g GovernorOptions, o Options) (*Ledger, error) {
	g.Tally = NewTally()
	o.Tally = g.Tally
	l := &Ledger{options: g}
	if err := l.Follow(g.Registry, g.Rules); err != nil {
		return nil, err
	}
	var err error
	if l.writer, err = NewWriter(o); err != nil {
		return nil, err
	}
	return l, nil
}

// Follow makes the governor go by another registry or other rules.
func (l *Ledger) Follow(registry *fault.Registry, rules Rules) error {
	o := l.options
	o.Registry, o.Rules = registry, rules
	governor, err := NewGovernor(o)
	if err == nil {
		l.governor.Store(governor)
	}
	return err
}

// Check says what is wrong with an event.
func (l *Ledger) Check(now time.Time, in *Incoming) error { return l.governor.Load().Check(now, in) }

// Govern decides about what clients sent.
func (l *Ledger) Govern(ctx context.Context, now time.Time, batch []Incoming) (Governed, error) {
	return l.governor.Load().Govern(ctx, now, batch)
}

// Keep says what is stored of events together with the act that they record.
func (l *Ledger) Keep(ctx context.Context, now time.Time, events []recoup.Event) ([]*store.Event, error) {
	return l.governor.Load().Keep(ctx, now, events)
}

// Inspect says why events that came by the transport cannot have been governed.
func (l *Ledger) Inspect(now time.Time, events []store.Event) error {
	return l.governor.Load().Inspect(now, events)
}

// Transport is what carries events to those who write them; nil: they are written here.
func (l *Ledger) Transport() Transport { return l.writer.o.Transport }

// Append hands events to the writer.
func (l *Ledger) Append(ctx context.Context, events []store.Event) (*Receipt, error) {
	return l.writer.Append(ctx, events)
}

// TenantHashes returns the hashes that a tenant may have in the ledger.
func (l *Ledger) TenantHashes(tenant string) []string { return l.options.Tenants.TenantHashes(tenant) }

// CountDropped notes what a client could not send.
func (l *Ledger) CountDropped(now time.Time, reason string, n int64) {
	l.options.Tally.Add(now, reason, n)
}

// Stats says how the writer is doing.
func (l *Ledger) Stats() Stats { return l.writer.Stats() }

// Close writes what there is, and ends the writer.
func (l *Ledger) Close(ctx context.Context) error { return l.writer.Close(ctx) }
