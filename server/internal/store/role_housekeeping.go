package store

import (
	"context"
	"time"
)

// Housekeeper is what the leader does by the clock. What deletes takes at most limit rows
// at a time and returns how many; what folds replaces appended deltas by their
// sums, and no answer changes by it.
type Housekeeper interface {
	ErrorKeeper

	// Overdue says how much of a kind has come at a time, at most limit, and since
	// when the first of it has been due: of the deadlines of errors what Due
	// returns, of the rest what the verb that deletes it would take. It costs no more
	// than what it counts.
	Overdue(ctx context.Context, d Deadline, at time.Time, limit int) (Overdue, error)

	// PurgeReceipts deletes at most limit receipts that have expired.
	PurgeReceipts(ctx context.Context, now time.Time, limit int) (int, error)

	// PurgeSessions deletes at most limit sessions that are over at a time.
	PurgeSessions(ctx context.Context, now time.Time, limit int) (int, error)

	// PurgeOperations deletes at most limit members of operations that were not confirmed
	// in time, or have been kept for long enough after their end, and the operations of
	// which none is left.
	PurgeOperations(ctx context.Context, now time.Time, limit int) (int, error)

	// PurgeNotices deletes at most limit notices that were delivered or given up
	// before a time. Their keys are free again.
	PurgeNotices(ctx context.Context, before time.Time, limit int) (int, error)

	// PurgeProcessed deletes at most limit counts of minutes, and as many of
	// hours, of hours that were over at a time, and returns how many it deleted.
	PurgeProcessed(ctx context.Context, before time.Time, limit int) (int, error)

	// PurgeActivity deletes at most limit sums of minutes, and as many of hours, of
	// hours that were over at a time, and returns how many it deleted.
	PurgeActivity(ctx context.Context, before time.Time, limit int) (int, error)

	// PurgeAlerts deletes at most limit alerts that were resolved before a time,
	// those first that were resolved first, and as many silences whose time was
	// over. Nothing else can delete one.
	PurgeAlerts(ctx context.Context, before time.Time, limit int) (int, error)

	// PurgeRollups deletes at most limit counts of each kind that are no longer
	// needed, oldest first, and returns how many it deleted.
	PurgeRollups(ctx context.Context, keep Retention, limit int) (int, error)

	// DropEvents deletes the events of all months that are over at a time. Their
	// counts stay. Months that cannot be deleted are ErrNotDropped; the others are.
	DropEvents(ctx context.Context, before time.Time) error

	// EnsureEventPartitions makes ready what events need that happened up to
	// retention ago, and in this month and the next three.
	EnsureEventPartitions(ctx context.Context, now time.Time, retention time.Duration) error

	// PurgeErrorGroups deletes at most limit groups of errors that have none any more and
	// were last seen before a time, and as many of their hours, and returns how many it
	// deleted.
	PurgeErrorGroups(ctx context.Context, before time.Time, limit int) (int, error)

	FoldErrorGroups(ctx context.Context) error
	FoldDeadLetterCounts(ctx context.Context) error
	FoldActivity(ctx context.Context) error
	FoldRollups(ctx context.Context) error
}

// ErrorKeeper is what of it is about errors.
type ErrorKeeper interface {
	// PurgeArchive deletes at most limit archived errors whose retention is over.
	PurgeArchive(ctx context.Context, now time.Time, limit int) (int, error)

	// EnsurePartitions makes ready what writes at now need, and drops history
	// that nobody can need any more: it is older than the longest TTL and the
	// longest archive together, so that no archived error outlives its history. If
	// only some of that cannot be dropped it is ErrNotDropped.
	EnsurePartitions(ctx context.Context, now time.Time) error

	FoldCounts(ctx context.Context) error
}
