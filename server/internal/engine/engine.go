// Package engine applies lifecycle.Step to stored errors: it takes what callers
// say, checks and cleans it, and hands the decision to the store together with
// what the ledger keeps of it. It decides nothing itself, and it knows neither
// HTTP nor SQL.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/access"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Store is what the engine needs of a store.
type Store interface {
	store.ErrorWriter
	store.ErrorReader
	store.ErrorGrouper
	store.DeadlineReader
	store.Promoter
	store.EntityFinder
	store.AuditWriter
	store.OperationKeeper
}

// Ledger says what may be kept of failures.
type Ledger interface {
	// Keep returns what is to be stored of each event, in their order; nil where
	// the ledger's rules refuse one. What it leaves out is counted.
	Keep(ctx context.Context, now time.Time, events []recoup.Event) ([]*store.Event, error)
}

// Options are what an engine is made of. All but the last four are required.
type Options struct {
	Store      Store
	Ledger     Ledger
	Policies   *Policies
	Codes      func() *fault.Registry
	Now        func() time.Time
	IDs        *recoup.IDSource
	Redactor   *redact.Redactor  // nil: the default rules
	Heartbeats *lease.Heartbeats // nil: nobody asks who claims
	Logger     *slog.Logger      // nil: what the database refuses of the clock's changes is not logged

	// Refusal says why an act does not apply to an error, in words for operators; nil: as
	// the error does.
	Refusal func(error) (recoup.Code, string)
}

// Engine is safe for concurrent use.
type Engine struct {
	Options
	*lease.Waiters // claims that wait
	gates          *gateBatcher
	refused        *refusals
}

// New checks the options.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Ledger == nil || o.Policies == nil || o.Codes == nil || o.Now == nil || o.IDs == nil {
		return nil, errors.New("engine: store, ledger, policies, codes, clock and ids are required")
	}
	if o.Redactor == nil {
		o.Redactor = redact.Default()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Refusal == nil {
		o.Refusal = plainRefusal
	}
	gates := &gateBatcher{ask: func(ctx context.Context, entities []string) ([][]store.Blocker, error) {
		return o.Store.Blocking(ctx, entities, maxBlockers+1)
	}}
	return &Engine{Options: o, Waiters: lease.NewWaiters(store.WakeErrors), gates: gates, refused: newRefusals(o.Logger)}, nil
}

// Caller is who calls, and on behalf of which hubs.
type Caller = access.Caller

// foreignService says what to do about a service that is not of the caller's hubs.
const foreignService = "service must be one of the key's hubs: list it there as one of its services in the policy, or use a key for all hubs"

// CheckService refuses a service that the caller may not speak for: its rate would
// be theirs to dilute, and its alerts theirs to set off.
func (e *Engine) CheckService(c Caller, service string) error {
	if service == "" || e.OwnsService(c, service) {
		return nil
	}
	return fault.BadField("service", "hub", "%s", foreignService)
}

// OwnsService reports whether the caller may speak for a service.
func (e *Engine) OwnsService(c Caller, service string) bool {
	return len(c.Hubs) == 0 || c.Of(e.Policies.Current().ServiceHub(service))
}

// OwnsProvider reports whether the caller may say that a provider has failed: who
// does can have another one used in its place.
func (e *Engine) OwnsProvider(c Caller, provider string) bool {
	return len(c.Hubs) == 0 || c.Of(e.Policies.Current().ProviderHub(provider))
}

// ErrForbidden is returned for an error or a table of a hub that the caller's
// key is not for.
var ErrForbidden = access.ErrForbidden

// may reports ErrForbidden unless the caller may touch the table of that name. A
// table that no policy has belongs to the orphans' hub.
func (e *Engine) may(c Caller, table string) error {
	t, ok := e.Policies.Table(table)
	if !ok {
		t = e.Policies.Current().OrphanTable
	}
	if !c.MayTouch(t) {
		return ErrForbidden
	}
	return nil
}
