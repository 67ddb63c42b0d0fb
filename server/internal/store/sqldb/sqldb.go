// Package sqldb gives packages with their own statements access to the database:
// transactions, queries, and the columns of rows. One statement text serves both
// databases, written for PostgreSQL. Constructs that differ between the two are written by
// methods of [Dialect], words that differ are translated by the SQLite store.
//
// A slice, such as adoption, archive or bus, gets a [DB] from either store and
// declares its tables with [Table] and [NewRepository]. Package sqldb must not know
// what is stored: no errors, dead letters, events or policies. It imports neither
// package store nor a driver. Operations of the core are in store/sqlops.
package sqldb

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is returned for an id that does not exist.
var ErrNotFound = errors.New("not found")

// ErrDuplicate is returned by [Tx.Copy] for a row that exists.
var ErrDuplicate = errors.New("the row exists")

// DB is a database with the transactions that a slice may use.
type DB interface {
	Transactor[Tx]
	Reader
}

// Transactor runs transactions of type T.
type Transactor[T any] interface {
	// Act calls do in one transaction and commits it. After a conflict with another
	// transaction it calls do again, so do must keep nothing between calls. doing
	// describes the transaction in errors. at is the time of the act; zero means the
	// store's clock, read once the transaction has its locks.
	//
	// do returns errors of its statements, [ErrNotFound], or errors of package store.
	// PostgreSQL takes any other error for a lost connection: [DecideOne] returns
	// refusals of other kinds.
	Act(ctx context.Context, doing string, at time.Time, do func(T) error) error
}

// Reader reads the database outside of a transaction that writes.
type Reader interface {
	// Read runs a query.
	Read(ctx context.Context, q *Query, into Answer) error

	// Snapshot calls do with a function that runs queries on one snapshot of the
	// database. These queries have no time limit.
	Snapshot(ctx context.Context, doing string, do func(read func(*Query, Answer) error) error) error

	// Dialect returns the SQL dialect of the database.
	Dialect() Dialect
}

// Tx is a transaction. Statements that return no result may be delayed until the
// next statement that does, or until the commit; their errors are returned then.
type Tx interface {
	// Query runs a query. QueryLater runs it no later than the next query, so that
	// several share a round trip. Lock runs a query that locks rows and then sets the
	// time of the act.
	Query(q *Query, into Answer) error
	QueryLater(q *Query, into Answer) error
	Lock(q *Query, into Answer) error

	// Now returns the time of the act. It is known after the first Lock.
	Now() time.Time

	// LockRows locks rows that need not be read. SQLite, which has one writer, does
	// nothing, so the text is PostgreSQL's.
	LockRows(sql string, args ...any)

	// Due returns the argument for the parameter of [Due].
	Due() any

	// Do runs a statement. Change runs one for each list of arguments and returns
	// the number of rows changed.
	Do(sql string, args ...any) error
	Change(sql string, args ...[]any) (int, error)

	// Add inserts rows. InsertNew skips rows whose key or unique column exists and
	// returns how many were inserted. InsertIgnore does the same without counting.
	// Upsert replaces rows that have the same key. Update changes rows by their keys.
	Add(b Batch) error
	InsertNew(b Batch) (int, error)
	InsertIgnore(b Batch) error
	Upsert(b Batch) error
	Update(b Batch) error

	// Copy inserts many rows at once and returns their number: by COPY on PostgreSQL,
	// by inserts of many rows on SQLite. If a row exists, it returns [ErrDuplicate], and
	// the transaction must end with that error.
	Copy(b Batch) (int, error)

	// CopyNew is Copy for rows of which some may exist: these are skipped, whatever is
	// unique of them, and only the others are counted. On SQLite a trigger that runs
	// before an insert also runs for rows that are then skipped.
	CopyNew(b Batch) (int, error)

	// Acquire waits for an advisory lock and holds it until the end of the
	// transaction. A shared lock excludes only exclusive ones.
	Acquire(lock AdvisoryLock, shared bool) error

	// Wake notifies the listeners of a kind after the commit.
	Wake(kind string)

	// SecureDelete overwrites what this transaction deletes, where the database can.
	SecureDelete()

	// Dialect returns the SQL dialect of the database.
	Dialect() Dialect
}

// AdvisoryLock is the number of a lock that protects no existing row. On PostgreSQL it is
// a row of recoup.turn_lock: a slice adds its own by a migration.
type AdvisoryLock int

// Generic returns a database whose transactions offer only the methods of [Tx].
func Generic[T Tx](db interface {
	Transactor[T]
	Reader
}) DB {
	return generic[T]{db, db}
}

type generic[T Tx] struct {
	Reader
	transactor Transactor[T]
}

// Act implements [Transactor].
func (g generic[T]) Act(ctx context.Context, doing string, at time.Time, do func(Tx) error) error {
	return g.transactor.Act(ctx, doing, at, func(tx T) error { return do(tx) })
}
