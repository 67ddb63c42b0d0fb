package conformance

import (
	"context"
	"iter"
	"time"

	"recoup/fault"
	"recoup/internal/store"
)

// Ledger is what a store keeps of failures as facts (spec 003), one small
// interface per concern. Its users declare the parts they need for themselves.
type Ledger interface {
	Codes
	Events
	Rollups
	Close() error
}

// Codes keeps the registry of codes, which events are held to.
type Codes interface {
	// SyncCodes registers codes, and renews what is known of those that are
	// registered already. It never removes one. Safe to run from many nodes at
	// once.
	SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error

	// Codes returns everything that is registered, sorted by code.
	Codes(ctx context.Context) ([]fault.Definition, error)
}

// Events keeps failures. An event is identified by its id together with its
// time: the same again is ignored.
type Events interface {
	// InsertEvents adds events and counts them, all or none of them, and returns
	// how many were new. A code that is not registered, or details that spec 003
	// does not allow, are refused with store.ErrRefused.
	InsertEvents(ctx context.Context, events []store.Event) (added int, err error)

	// BulkLoad adds any number of events of a span, as a backfill does, in large
	// steps, each of which stands or falls by itself, and then renews what the
	// database knows of its contents. An event outside of the span ends it with
	// store.ErrRefused. Whatever ended it, it may be run again.
	BulkLoad(ctx context.Context, span store.Span, events iter.Seq[store.Event]) (added int, err error)

	// Events lists events, newest first, and where times are equal by id from
	// large to small. It returns the cursor to go on from, or the zero cursor
	// once there is nothing more.
	Events(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Event, store.Cursor, error)

	// EnsureEventPartitions makes ready what events need that happened up to
	// retention ago, and in this month and the next two.
	EnsureEventPartitions(ctx context.Context, now time.Time, retention time.Duration) error

	// DropEvents deletes the events of all months that are over at a time. Their
	// counts stay.
	DropEvents(ctx context.Context, before time.Time) error
}

// Rollups answers questions about how often things failed, from counts that are
// exact at every moment: late events are counted where they belong, duplicates
// nowhere, and nothing is counted twice.
type Rollups interface {
	// TopCodes returns the codes with the most events in a span, most first, and
	// where they have equally many by name. It is exact as far back as hourly
	// counts are kept.
	TopCodes(ctx context.Context, span store.Span, limit int) ([]store.CodeCount, error)

	// RetryableRates returns for every service how many of its events from a day
	// to a day, both included, were worth trying again, the highest share first.
	RetryableRates(ctx context.Context, from, to time.Time) ([]store.ServiceRate, error)

	// Daily returns the counts from a day to a day, both included, by day,
	// service and code. How much that is, the number of days decides.
	Daily(ctx context.Context, f store.DailyFilter, from, to time.Time) ([]store.DailyCount, error)

	// CountDrops notes what was left out of the ledger; Drops returns it from a
	// day to a day, both included, by day and reason.
	CountDrops(ctx context.Context, drops []store.Drop) error
	Drops(ctx context.Context, from, to time.Time) ([]store.Drop, error)

	// FoldRollups replaces what was appended by sums. No answer changes by it.
	FoldRollups(ctx context.Context) error

	// PurgeRollups deletes at most limit counts of each kind that are no longer
	// needed, oldest first, and returns how many it deleted.
	PurgeRollups(ctx context.Context, keep store.Retention, limit int) (int, error)
}
