package conformance

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Alerting is what a store keeps for alerts and for the figures that they are
// made of, one small interface per aggregate. Its users declare the parts they
// need for themselves.
type Alerting interface {
	Service
	Alerts
	Metrics
	Mailroom
}

// Alerts keeps which rules hold, what is not to be told for a time, and which
// providers are in use. A resolved alert never changes, and of a rule and a scope
// at most one is not resolved.
type Alerts interface {
	// OpenAlerts returns the alerts that are not resolved, by rule and scope; at
	// most store.MaxOpenAlerts.
	OpenAlerts(ctx context.Context) ([]store.Alert, error)

	// Alert returns an alert, else store.ErrNotFound.
	Alert(ctx context.Context, id recoup.ID) (store.Alert, error)

	// Alerts lists alerts, newest first, by when they began to be pending.
	Alerts(ctx context.Context, f store.AlertFilter, p store.Page) ([]store.Alert, store.Cursor, error)

	// SaveAlerts writes what an evaluation has changed, all of it or nothing:
	// alerts, notices (one whose key is there already is not added again), and
	// switches with their rows in the audit. From a leader whose term is not the
	// current one it is store.ErrRefused; if a switch is not from the provider that
	// is in use it is store.ErrConflict.
	SaveAlerts(ctx context.Context, term store.Term, now time.Time, v store.Verdict) error

	// PurgeAlerts deletes at most limit alerts that were resolved before a time,
	// those first that were resolved first, and as many silences whose time was
	// over. Nothing else can delete one.
	PurgeAlerts(ctx context.Context, before time.Time, limit int) (int, error)

	// AddSilence adds a silence, by whoever acts. One without a reason or without
	// any time left is store.ErrRefused, an id that is known store.ErrConflict.
	AddSilence(ctx context.Context, s store.Silence, act store.Act) (store.Silence, error)

	// EndSilence ends a silence before its time and returns it as it is then. The
	// first end stands, and one whose time is over is left alone. An unknown id is
	// store.ErrNotFound.
	EndSilence(ctx context.Context, id recoup.ID, act store.Act) (store.Silence, error)

	// Silences lists the silences that hold at a time, or all if it is zero, newest
	// first.
	Silences(ctx context.Context, activeAt time.Time, p store.Page) ([]store.Silence, store.Cursor, error)

	// Providers returns the groups that were ever switched, by name.
	Providers(ctx context.Context) ([]store.Provider, error)

	// SwitchProvider moves a group to another provider. If the switch is not from
	// the one that is in use, or moves nothing, it is store.ErrConflict.
	SwitchProvider(ctx context.Context, s store.Switch, act store.Act) (store.Provider, error)
}

// Metrics answers what rates and levels are made of. No answer costs more
// because there are more errors.
type Metrics interface {
	// Activity sums up what happened in the minutes that begin in a span, by table.
	// Tables in which nothing happened are left out.
	Activity(ctx context.Context, span store.Span) ([]store.Activity, error)

	// FoldActivity replaces what was appended by sums. No answer changes by it.
	FoldActivity(ctx context.Context) error

	// PurgeActivity deletes at most limit sums of minutes, and as many of hours, of
	// hours that were over at a time, and returns how many it deleted.
	PurgeActivity(ctx context.Context, before time.Time, limit int) (int, error)

	// Levels returns what there is at now, by table. Tables without errors are
	// left out.
	Levels(ctx context.Context, now time.Time) ([]store.Level, error)

	// RecentEvents counts the events of some codes that happened in a span, by code
	// and provider. The cost depends on what happened in the span.
	RecentEvents(ctx context.Context, span store.Span, codes []recoup.Code) ([]store.RecentCount, error)
}

// Mailroom shows what is in the outbox and puts in again what was given up.
type Mailroom interface {
	// Notices lists notices, newest first.
	Notices(ctx context.Context, f store.NoticeFilter, p store.Page) ([]store.NoticeRecord, store.Cursor, error)

	// ResendNotices puts notices that were given up in again, as new ones that name
	// the old, and returns how many: one that waits, is delivered, is unknown or was
	// put in again before is passed over.
	ResendNotices(ctx context.Context, ids []recoup.ID, act store.Act) (int, error)

	// OutboxLevels says how much waits and how much was given up, each counted up
	// to store.MaxOutboxCount.
	OutboxLevels(ctx context.Context) (store.OutboxLevel, error)
}
