// Package sqlops holds the operations of the core that both databases share: those of
// tables that are written seldom and read a page at a time (keys, audit, policies,
// silences, alerts, notifications, leadership…), and the transactions of errors and
// dead letters. Hot paths, which each database writes by hand, are in store/postgres and
// store/sqlite.
//
// An operation is one transaction, a [Tx]: it loads and locks rows, decides by a pure
// function of package store, and saves. Queries and tables are those of package sqldb.
package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// DB is a database with the transactions of the core.
type DB interface {
	sqldb.Transactor[Tx]
	sqldb.Reader

	// Lanes names the first lanes of the queue. LaneLevels counts what is in some of
	// them, each up to a limit, and Beyond what is in all lanes behind one.
	Lanes(ctx context.Context, limit int) ([]recoup.Lane, error)
	LaneLevels(ctx context.Context, now time.Time, lanes []recoup.Lane, limit int) ([]store.LaneLevel, error)
	Beyond(ctx context.Context, now time.Time, last recoup.Lane, limit int) (store.LaneLevel, error)

	// Unclaimed counts what is due and not leased in some tables and lanes, each up to a
	// limit. Those without any are left out.
	Unclaimed(ctx context.Context, now time.Time, tables []string, lanes []recoup.Lane, limit int) ([]store.Unclaimed, error)

	// Blockers returns what blocks an entity beside its errors, as slices know it: errors
	// without an id.
	Blockers(ctx context.Context, entity string) ([]recoup.Error, error)
}

// Tx is a transaction of the core: it also reads and writes errors, promotions and the
// queue, which each database does in its own way.
type Tx interface {
	sqldb.Tx

	// LoadReports locks what reports replace, admit and count. LoadSteps locks the errors
	// of steps and what they count, in the table or the archive. Both look for receipts
	// once these locks are held.
	LoadReports(reports []store.Report) (*store.UnitOfWork, error)
	LoadSteps(steps []store.Step) (*store.UnitOfWork, error)

	// ApplyCached applies cached decisions to the steps that they cover and returns the
	// indexes of the other steps.
	ApplyCached(steps []store.Step, outcomes []store.Outcome) (left []int, err error)

	// SaveErrors writes what a unit of work has decided about errors.
	SaveErrors(w *store.UnitOfWork) error

	// Promote locks the promotion gate of an entity and records a promotion, unless
	// something blocks it; done then stays empty. It runs no later than the next query.
	Promote(p store.Promotion, done *store.Promoted) error

	// HoldWork locks the leases of work that was leased in batches, found by their tokens
	// or by the work, so that Leased can fill them in.
	HoldWork(works, tokens []recoup.ID) error
	Leased(q *recoup.WorkItem)

	// Fence returns store.ErrLeaseLost unless work is leased under a token, and keeps the
	// lease until the commit.
	Fence(work, token recoup.ID) error

	// SaveQueue writes work that is added to the queue, changed in it or removed from it.
	SaveQueue(added []recoup.WorkItem, changed []store.Change[recoup.WorkItem], gone []recoup.WorkItem) error
}

// Advisory locks of the core.
const (
	lockFirstKey sqldb.AdvisoryLock = iota + 1
	lockPolicy
	lockPlatformKey
	lockProvider
	lockView
	lockOperation
)

// Ops are the operations.
type Ops struct{ db DB }

// New returns the operations on a database.
func New(db DB) Ops { return Ops{db} }

// SQL returns the database for packages that bring their own statements.
func (v Ops) SQL() sqldb.DB { return sqldb.Generic[Tx](v.db) }
