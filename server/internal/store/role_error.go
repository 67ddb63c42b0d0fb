package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TableSyncer keeps what the database must know of the policy: which tables there
// are, what they allow, and the views that carry their names.
type TableSyncer interface {
	// SyncTables brings the mirror and the views in line with the policy. Tables
	// that the policy no longer has are retired, never dropped. Idempotent, and
	// safe to run from many nodes at once. A name that something else has is left
	// to it: the errors of that table are governed and kept all the same. A view that
	// another session has locked is left as it is, and is listed as locked by
	// TableNames. If the sync as a whole waits for a lock in vain, and all tables are in
	// the database as this version of the policy has them, it is ErrSyncDeferred.
	//
	// What slices keep of the policy is written by also, after the tables and in the same
	// transaction: if one of them fails, nothing of the policy is synced.
	SyncTables(ctx context.Context, p *policy.Policy, also ...SyncPolicy) error
}

// SyncPolicy brings what a slice keeps of the policy in line with it, in a transaction. It may
// run again for the same policy.
type SyncPolicy func(sqldb.Tx, *policy.Policy) error

// TableNamer says what has the names of tables.
type TableNamer interface {
	// TableNames lists the names of the policy's tables and archives, by table,
	// and what each is in the database at the moment.
	TableNames(ctx context.Context) ([]wire.TableName, error)
}

// ErrorWriter changes errors. Every verb is one transaction: the error, its history
// rows, notices, streaks and archive move stand or fall together. A verb that
// returns an error has done nothing, unless it was cut off during the commit
// itself; one whose context ends while it runs may still be carried out, and
// then says so.
type ErrorWriter interface {
	// Report records failures in order, and means the same as its reports one by
	// one. An item that its Decide refuses leaves the others alone. A report that
	// is to admit a row which is gone or admitted already is ErrNotFound.
	Report(ctx context.Context, now time.Time, reports []Report) ([]Outcome, error)

	// PreviewReports says what Report would do, and does nothing.
	PreviewReports(ctx context.Context, now time.Time, reports []Report) ([]Outcome, error)

	// ApplySteps applies inputs to stored errors, in order, each under a lock on
	// its row. An archived error can still be stepped: what a worker says too
	// late is kept in the history.
	ApplySteps(ctx context.Context, now time.Time, steps []Step) ([]Outcome, error)

	// ClaimDue leases due errors: exactly those for which lifecycle.Step accepts
	// a claim. No error is handed to two claimers. If the database refuses one of
	// them it is ErrRefused, and what is returned with it is leased nevertheless.
	ClaimDue(ctx context.Context, claim Claim) ([]recoup.Error, error)
}

// ErrorFinder finds errors. Every list has an index, a limit and a cursor, and costs
// the same however much history there is.
//
// Lists are ordered by their time and, where times are equal, by id in the same
// direction, so that a cursor walks every row exactly once, whatever is written
// meanwhile. A list returns the cursor to go on from, or the zero cursor once
// there is nothing more; a last page may be empty.
type ErrorFinder interface {
	// Error returns an error from its table or from the archive, else
	// ErrNotFound.
	Error(ctx context.Context, id recoup.ID) (recoup.Error, error)

	// Errors lists open and resolved errors, newest first (by creation).
	Errors(ctx context.Context, f Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error)
}

// ErrorReader answers questions about errors, with lists as those of [ErrorFinder].
type ErrorReader interface {
	ErrorFinder

	// ParkQueue lists parked errors of the tables, or of all if none is named,
	// longest parked first.
	ParkQueue(ctx context.Context, tables []string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error)

	// Archived lists the archive of a table, last archived first.
	Archived(ctx context.Context, table string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error)

	// History returns the history of an error, oldest first.
	History(ctx context.Context, id recoup.ID, limit int) ([]recoup.Transition, error)

	// Blocking returns for each entity the errors that block it, oldest first, at
	// most limit of each. What was committed before the call is in it.
	Blocking(ctx context.Context, entities []string, limit int) ([][]Blocker, error)

	// Counts returns how many errors each table has in each state. Archived ones
	// do not count, and what would be zero is left out.
	Counts(ctx context.Context) ([]recoup.StateCount, error)
}

// ErrorGrouper keeps what errors of one cause have in common. What happens to errors is in
// the counts of their group once the leader has folded it.
type ErrorGrouper interface {
	// ErrorGroup returns a group, else ErrNotFound.
	ErrorGroup(ctx context.Context, id recoup.ID) (recoup.ErrorGroup, error)

	// ErrorGroups lists groups: those first of which most is open, or that were seen last.
	ErrorGroups(ctx context.Context, f ErrorGroupFilter, p sqldb.Page) ([]recoup.ErrorGroup, sqldb.Cursor, error)

	// ErrorGroupHours returns how many errors of some groups were reported in each hour
	// from a time on; hours without any are left out.
	ErrorGroupHours(ctx context.Context, ids []recoup.ID, from time.Time) ([]GroupHour, error)

	// NoteErrorGroup sets the owner and the note of a group, unless empty, and returns the
	// group. An unknown one is ErrNotFound.
	NoteErrorGroup(ctx context.Context, id recoup.ID, owner, note string, act Act) (recoup.ErrorGroup, error)
}

// DeadlineReader says what is due.
type DeadlineReader interface {
	// Due returns ids of errors whose deadline has come, longest overdue first:
	// exactly those whose input lifecycle.Step accepts at now, except that an
	// expiry is also due where a live lease still holds it up, and that leases which
	// were extended lapse in the order of their claims. The first of them are left out, as many as skip says: so a sweep gets past what it cannot move.
	Due(ctx context.Context, d Deadline, now time.Time, skip, limit int) ([]recoup.ID, error)

	// Unadmitted returns rows written by plain SQL that no engine has seen yet,
	// oldest first.
	Unadmitted(ctx context.Context, limit int) ([]recoup.Error, error)
}

// Promoter is the gate.
type Promoter interface {
	// Promote records a promotion and returns its number in the gate's order, or
	// ErrBlocked and what blocks. It cannot be raced by a report.
	Promote(ctx context.Context, p Promotion) (done Promoted, blockers []recoup.Error, err error)
}

// EntityFinder knows which entities there are.
type EntityFinder interface {
	// KnowsEntity reports whether an error, open or archived, or a promotion names the
	// entity.
	KnowsEntity(ctx context.Context, entity string) (bool, error)
}

// PromotionReader reads the promotion gate.
type PromotionReader interface {
	// GateLog returns what happened at an entity's gate, in the order of Seq:
	// errors that began and ceased to block, and promotions.
	GateLog(ctx context.Context, entity string, limit int) ([]GateEntry, error)
}
