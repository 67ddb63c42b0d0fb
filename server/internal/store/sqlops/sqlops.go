// Package sqlops holds the verbs that both databases do alike, each written once:
// those of tables that are written seldom and read a page at a time (keys, the
// audit, policies, silences, alerts, the outbox, the leader's book…). What is hot,
// and therefore written by hand for each database, is not here.
//
// A verb is one transaction, a [Tx]: load and lock, decide by a pure function of
// package store, save. Its statements are PostgreSQL's, restricted to what SQLite
// takes after a few rewrites, which are in store/sqlite.
package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// DB is a database as verbs use it.
type DB interface {
	// Act runs do in one transaction and commits it. Where others were in the way
	// it starts over, so do must keep nothing between calls. at is when it
	// happens; zero: when it has its locks.
	Act(ctx context.Context, doing string, at time.Time, do func(Tx) error) error

	// Read answers a question outside of a transaction.
	Read(ctx context.Context, q *Query, into sqldb.Answer) error

	// Snapshot answers questions that see the database as of one moment. They may
	// take as long as they need.
	Snapshot(ctx context.Context, doing string, do func(read func(*Query, sqldb.Answer) error) error) error

	// Lanes names the first lanes of the queue. LaneLevels counts what is in some of
	// them, each up to a limit, and Beyond what is in all lanes behind one.
	Lanes(ctx context.Context, limit int) ([]recoup.Lane, error)
	LaneLevels(ctx context.Context, now time.Time, lanes []recoup.Lane, limit int) ([]store.LaneLevel, error)
	Beyond(ctx context.Context, now time.Time, last recoup.Lane, limit int) (store.LaneLevel, error)

	// Unclaimed counts what of some tables and lanes is due and held by nobody, each up
	// to a limit. Those without any are left out.
	Unclaimed(ctx context.Context, now time.Time, tables []string, lanes []recoup.Lane, limit int) ([]store.Unclaimed, error)

	// Unread returns the adopted tables that have a row of an entity which no node has
	// looked at, as errors that have no id yet.
	Unread(ctx context.Context, entity string) ([]recoup.Error, error)
}

// Tx is a transaction. Statements that return no answer may be put off until the
// next one that does, or the commit.
type Tx interface {
	// Query answers a question, and QueryLater does by the time the next one is answered.
	// Lock does so too, for rows that it locks, and has the act happen then: Now is
	// the time at which it had them.
	Query(q *Query, into sqldb.Answer) error
	QueryLater(q *Query, into sqldb.Answer) error
	Lock(q *Query, into sqldb.Answer) error
	Now() time.Time

	// LockRows takes locks on rows that need not be read.
	LockRows(sql string, args ...any)

	// Due is the time by which a statement looks for what is due, as the parameter
	// of [due].
	Due() any

	// Do runs a statement. Change runs one for each list of arguments, and returns
	// how many rows that changed.
	Do(sql string, args ...any) error
	Change(sql string, args ...[]any) (int, error)

	// Add adds rows. InsertNew leaves out those whose key, or another column that no
	// two may share, is known, and returns how many there were; InsertIgnore does so too,
	// for who need not know. Upsert takes the place of rows with the same key. Update gives
	// rows new values, found by their key.
	Add(b sqldb.Batch) error
	InsertNew(b sqldb.Batch) (int, error)
	InsertIgnore(b sqldb.Batch) error
	Upsert(b sqldb.Batch) error
	Update(b sqldb.Batch) error

	// Turn waits until nobody else has the turn of that name, until the commit;
	// with others it is shared by all who share it.
	Turn(t AdvisoryLock, shared bool) error

	// LoadReports locks what reports replace, admit and count, and LoadSteps the errors
	// of steps with what they count, wherever those are; both look for receipts once
	// that is locked. ApplyCached applies cached decisions to steps that these stand
	// for, and returns the places of those that are left. SaveErrors writes what a unit of work has decided about errors.
	LoadReports(reports []store.Report) (*store.UnitOfWork, error)
	LoadSteps(steps []store.Step) (*store.UnitOfWork, error)
	ApplyCached(steps []store.Step, outcomes []store.Outcome) (left []int, err error)
	SaveErrors(w *store.UnitOfWork) error

	// Promote holds the gate of an entity and records a promotion unless something
	// blocks; then it says nothing. It does so by the time the next question is answered.
	Promote(p store.Promotion, done *store.Promoted) error

	// HoldWork locks the leases under which work is held together with other work,
	// found by their tokens or else by the work, so that Leased can fill it in. Fence
	// returns store.ErrLeaseLost unless work is held under a token, and keeps it so
	// until the commit. SaveQueue writes how work goes on in the queue and out of it.
	HoldWork(works, tokens []recoup.ID) error
	Leased(q *recoup.Work)
	Fence(work, token recoup.ID) error
	SaveQueue(added []recoup.Work, changed []store.Change[recoup.Work], gone []recoup.Work) error

	// Wake wakes who waits for a kind of thing once this is committed.
	Wake(kind string)

	// SecureDelete has what this deletes overwritten wherever the database can.
	SecureDelete()
}

// AdvisoryLock names what verbs take turns at, because there may be no row to lock.
type AdvisoryLock int

// The turns.
const (
	turnFirstKey AdvisoryLock = iota + 1
	turnPolicy
	turnPlatformKey
	turnProvider
	turnView
	turnOperation
)

// Ops does what both databases do alike.
type Ops struct{ db DB }

// New returns the verbs on a database.
func New(db DB) Ops { return Ops{db} }

// act is a transaction with a result, which is zero if it failed.
func act[T any](ctx context.Context, v Ops, doing string, do func(Tx) (T, error)) (T, error) {
	return actAt(ctx, v, doing, time.Time{}, do)
}

func actAt[T any](ctx context.Context, v Ops, doing string, at time.Time, do func(Tx) (T, error)) (T, error) {
	var result, none T
	err := v.db.Act(ctx, doing, at, func(tx Tx) (err error) {
		result, err = do(tx)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// decide is the skeleton of a verb that takes many items: load and lock what they are
// about, with their receipts; decide in order; save. Nothing is saved unless all is,
// and where the database has it start over, all is decided anew.
func decide[I, O any](ctx context.Context, v Ops, doing string, at time.Time, items []I,
	load func(Tx) (*store.UnitOfWork, error), step func(*store.UnitOfWork, I) O) ([]O, error) {
	if len(items) == 0 {
		return nil, nil
	}
	return actAt(ctx, v, doing, at, func(tx Tx) ([]O, error) {
		w, err := load(tx)
		if err != nil {
			return nil, err
		}
		outcomes := make([]O, len(items))
		for i := range items {
			outcomes[i] = step(w, items[i])
		}
		return outcomes, save(tx, w)
	})
}

// decideOne is the skeleton of a verb that takes one thing: a refusal is returned
// once all that it leaves behind is committed.
func decideOne[R any](ctx context.Context, v Ops, doing string, at time.Time, do func(tx Tx) (next R, refused, err error)) (R, error) {
	var refused error
	next, err := actAt(ctx, v, doing, at, func(tx Tx) (next R, err error) {
		next, refused, err = do(tx)
		return next, err
	})
	if err == nil {
		err = refused
	}
	return next, err
}

// rows reads the rows of a question.
func rows[R any](ctx context.Context, v Ops, q *Query, columns ...sqldb.Column[R]) ([]R, error) {
	var list []R
	err := v.db.Read(ctx, q, sqldb.Into(&list, columns))
	return list, err
}

// one is the first row of an answer.
func one[R any](list []R, err error, what string) (R, error) {
	var none R
	switch {
	case err != nil:
		return none, err
	case len(list) == 0:
		return none, fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	return list[0], nil
}

// due is the time that a parameter says, or else the database's, asked once for the
// whole statement, so that indexes serve.
func due(parameter string) string {
	return "(select coalesce(" + parameter + "::timestamptz, recoup.clock()))"
}

// next is where a list goes on after this page, or nowhere.
func next[R, C any](list []R, size int, at func(*R) C) (cursor C) {
	if len(list) < size {
		return cursor
	}
	return at(&list[len(list)-1])
}
