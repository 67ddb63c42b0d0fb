package gatezero

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Store keeps batches, intakes, recoveries and the AIR in either database. Every method that
// writes is one transaction: whatever a decision causes stands or falls together. Times that
// are zero are the store's clock.
type Store struct{ db sqldb.DB }

// NewStore returns the store on a database, whose schema has the tables of Gate Zero.
func NewStore(db sqldb.DB) *Store { return &Store{db} }

// Reader are the questions of a [Store], which it answers with lists as those of
// store.ErrorFinder.
type Reader interface {
	Batch(ctx context.Context, id string) (recoup.IntakeBatchSummary, error)
	Batches(ctx context.Context, after BatchCursor, limit int) ([]recoup.IntakeBatchSummary, BatchCursor, error)
	Intake(ctx context.Context, id recoup.ID) (Case, error)
	Recovery(ctx context.Context, id recoup.ID) (Case, error)
	Intakes(ctx context.Context, f recoup.IntakeFilter, p sqldb.Page) ([]recoup.Intake, sqldb.Cursor, error)
	GateFigures(ctx context.Context) (recoup.GateZeroStatus, error)
	Eligible(ctx context.Context, batch string, now time.Time, p sqldb.Page) ([]Case, sqldb.Cursor, error)
	Exhausted(ctx context.Context, batch string, p sqldb.Page) ([]Case, sqldb.Cursor, error)
	Timeline(ctx context.Context, intake recoup.ID, limit int) ([]recoup.IntakeEvent, error)
	BatchTimeline(ctx context.Context, batch string, limit int) ([]recoup.IntakeEvent, error)
}

// The acts on batches, as the audit names them.
const (
	ActBatchComplete = "gate_zero.complete" // the end of an import
	ActBatchKill     = "gate_zero.kill"
	ActBatchRelease  = "gate_zero.release"
	ActBatchFreeze   = "gate_zero.freeze"
)

// Places are the tables in which people find intakes by a part of their id.
func Places() map[recoup.IDKind]sqldb.Place {
	return map[recoup.IDKind]sqldb.Place{
		recoup.IntakeIDs: sqldb.NewPlace("cl.gate_zero_intake", "gate_zero_intake_id_end_idx", "intake_id", "company_name", "status", "created_at"),
	}
}

const freezeDue = "frozen_at is null and batch_freeze_at <= $1"

// FirstDue are the statements that ask when something of Gate Zero is due: an attempt or a
// freeze. What only a worker can end is due as long as it waits.
func FirstDue() []string {
	return []string{
		"select next_eligible_at from cl.gate_zero_recovery where status = 'ACTIVE' order by next_eligible_at, recovery_id limit 1",
		"select batch_freeze_at from cl.gate_zero_batch where " + freezeDue + " order by batch_freeze_at limit 1",
	}
}

var overdue = sqldb.Fields(func(o *store.Overdue) []any { return []any{&o.N, &o.Since} })

// Overdue returns how many batches were to be frozen at a time, at most limit, and since when
// the first of them has been due.
func (s *Store) Overdue(ctx context.Context, at time.Time, limit int) (store.Overdue, error) {
	q := sqldb.NewQuery("look for what is overdue", "select count(*), min(at)::timestamptz from (select batch_freeze_at as at from cl.gate_zero_batch"+
		" where "+freezeDue+" order by batch_freeze_at limit $2) d", at, max(limit, 1))
	found, err := sqldb.Rows(ctx, s.db, q, overdue...)
	return sqldb.One(found, err, "freeze")
}

// FoldBatchCounts replaces appended deltas by their sums. On SQLite triggers count in place.
func (s *Store) FoldBatchCounts(ctx context.Context) error {
	if s.db.Dialect() == sqldb.SQLite {
		return ctx.Err()
	}
	return s.db.Act(ctx, "fold the counts of batches", time.Time{}, func(tx sqldb.Tx) error {
		return tx.Do(`
		with old as (delete from cl.gate_zero_count returning batch_id, status, n),
		reasons as (delete from cl.gate_zero_reason returning status, reason, n),
		folded as (insert into cl.gate_zero_reason
			select status, reason, sum(n) from reasons group by 1, 2 having sum(n) <> 0)
		insert into cl.gate_zero_count
		select batch_id, status, sum(n) from old group by 1, 2 having sum(n) <> 0`)
	})
}
