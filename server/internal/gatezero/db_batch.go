package gatezero

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// maxFrozen is how many batches one freeze looks after.
const maxFrozen = 100

// CreateBatch makes a batch, or returns the one of that id as it is.
func (s *Store) CreateBatch(ctx context.Context, id string, now time.Time) (recoup.IntakeBatch, error) {
	return sqldb.Act(ctx, s.db, "create a batch", func(tx sqldb.Tx) (recoup.IntakeBatch, error) {
		if _, err := batches.InsertNew(tx, recoup.IntakeBatch{ID: id, CreatedAt: now}); err != nil {
			return recoup.IntakeBatch{}, err
		}
		found, err := batches.Find(tx, "where batch_id = $1", id)
		return sqldb.One(found, err, batches.Label(id))
	})
}

// StepBatch applies an input to a batch and, if its kill switch is then on, to
// each of its recoveries that is leased. When it returns, nothing in a killed
// batch is leased, nor will be. The error is what decide returned, or
// ErrNotFound.
func (s *Store) StepBatch(ctx context.Context, id string, decide DecideCase) (recoup.IntakeBatch, error) {
	return sqldb.DecideOne(ctx, s.db, "change a batch", time.Time{}, func(tx sqldb.Tx) (next recoup.IntakeBatch, refused, err error) {
		current, err := batches.Lock(tx, id, id)
		if err != nil {
			return current, nil, err
		}
		leased, err := cases.Find(tx, `where r.batch_id = $1
			and r.recovery_id`+tx.Dialect().AnyOf("select recovery_id from cl.gate_zero_lease where token is not null"), id)
		if err != nil {
			return current, nil, err
		}
		w := newUnit(tx.Now(), leased...)
		if next, refused = w.stepBatch(current, decide); next != current {
			err = batches.Update(tx, next)
		}
		if err == nil {
			err = save(tx, w)
		}
		return next, refused, err
	})
}

// FreezeDue applies an input to at most limit ACTIVE recoveries, which nobody
// holds, of batches whose time is over, and to each such batch in which
// nothing is ACTIVE any more. It returns how many recoveries it has ended;
// fewer than limit means that the rest is held by workers. Batches that others are at
// work on are left for the next time.
func (s *Store) FreezeDue(ctx context.Context, now time.Time, limit int, decide DecideCase) (int, error) {
	return sqldb.ActAt(ctx, s.db, "freeze batches", now, func(tx sqldb.Tx) (int, error) {
		due, err := batches.Find(tx, `where frozen_at is null and batch_freeze_at <= `+tx.Dialect().Due("$1")+`
			order by batch_freeze_at limit $2`+tx.Dialect().ForUpdate("no key update skip locked"), tx.Due(), maxFrozen)
		if err != nil || len(due) == 0 {
			return 0, err
		}
		names := make([]string, len(due))
		for i := range due {
			names[i] = due[i].ID
		}
		ids, err := pick(tx, tx.Query, freezable(tx.Dialect()), limit, names)
		if err != nil {
			return 0, err
		}
		w, err := byRecovery.load(tx, ids)
		if err != nil {
			return 0, err
		}
		ended := len(w.stepCases(decide))
		if err := save(tx, w); err != nil {
			return 0, err
		}
		return ended, endFreeze(tx, due, names, decide)
	})
}

// endFreeze records the batches of which nothing is ACTIVE any more as frozen.
func endFreeze(tx sqldb.Tx, due []recoup.IntakeBatch, names []string, decide DecideCase) error {
	empty, err := batches.Find(tx, `b where batch_id`+tx.Dialect().AnyText("$1")+` and not exists (
		select 1 from cl.gate_zero_recovery r /*by gate_zero_recovery_claim_idx*/
		where coalesce(r.batch_id, '') = b.batch_id and r.status = 'ACTIVE')`, names)
	if err != nil {
		return err
	}
	w, frozen := newUnit(tx.Now()), []recoup.IntakeBatch{}
	for _, b := range due {
		if !slices.ContainsFunc(empty, func(e recoup.IntakeBatch) bool { return e.ID == b.ID }) {
			continue
		}
		if next, err := w.stepBatch(b, decide); err == nil {
			frozen = append(frozen, next)
		}
	}
	if err := batches.Update(tx, frozen...); err != nil {
		return err
	}
	return save(tx, w)
}

var statuses = sqldb.PerDialect(func(d sqldb.Dialect) sqldb.Repository[recoup.IntakeBatchSummary] {
	return sqldb.NewView(append(sqldb.Within("b.", batchTable.Columns, func(s *recoup.IntakeBatchSummary) *recoup.IntakeBatch { return &s.IntakeBatch }),
		sqldb.Read(`(
	select coalesce(`+d.JSONMap("status", "n")+`, '{}') from (
		select status, sum(n) as n from cl.gate_zero_count c
		where c.batch_id = b.batch_id group by 1 having sum(n) <> 0) s)`, func(s *recoup.IntakeBatchSummary) any { return (*batchCounts)(s) })),
		"batch", " from cl.gate_zero_batch b")
})

// Batch returns a batch with its counts, else ErrNotFound.
func (s *Store) Batch(ctx context.Context, id string) (recoup.IntakeBatchSummary, error) {
	view := statuses(s.db.Dialect())
	return view.Get(ctx, s.db, view.Select("read a batch", "where b.batch_id = $1", id), id)
}

// Batches lists batches with their counts, newest first.
func (s *Store) Batches(ctx context.Context, after BatchCursor, limit int) ([]recoup.IntakeBatchSummary, BatchCursor, error) {
	size := sqldb.Page{Limit: limit}.Size()
	view := statuses(s.db.Dialect())
	q := view.Select("list batches", "where true")
	if !after.IsZero() {
		q.Add(" and (b.created_at, b.batch_id) < (" + q.Arg(after.At) + ", " + q.Arg(after.ID) + ")")
	}
	q.Add(" order by b.created_at desc, b.batch_id desc limit " + q.Arg(size))
	list, err := view.List(ctx, s.db, q)
	return list, sqldb.Next(list, size, func(s *recoup.IntakeBatchSummary) BatchCursor {
		return BatchCursor{At: s.CreatedAt, ID: s.ID}
	}), err
}

// Intake returns the case of an intake, else ErrNotFound.
func (s *Store) Intake(ctx context.Context, id recoup.ID) (Case, error) {
	list, err := cases.List(ctx, s.db, cases.Select("read an intake", "where i.intake_id = $1", id))
	return sqldb.One(list, err, intakes.Label(id.String()))
}

// Recovery returns the case of a recovery, else ErrNotFound.
func (s *Store) Recovery(ctx context.Context, id recoup.ID) (Case, error) {
	list, err := cases.List(ctx, s.db, cases.Select("read a recovery", "where r.recovery_id = $1", id))
	return sqldb.One(list, err, recoveries.Label(id.String()))
}

// Eligible lists ACTIVE recoveries whose wait is over, of one batch or of all,
// the longest waiting first (spec 004, 10). Those that are leased, or paused
// by a kill switch, are among them; the case says so.
func (s *Store) Eligible(ctx context.Context, batch string, now time.Time, p sqldb.Page) ([]Case, sqldb.Cursor, error) {
	q := cases.Select("list recoveries", "where r.status = 'ACTIVE' and r.next_eligible_at <= $1", now)
	q.Equal("coalesce(r.batch_id, '')", batch)
	if !p.Cursor.IsZero() {
		q.Add(" and (r.next_eligible_at, r.recovery_id) > (" + q.Arg(p.Cursor.At) + ", " + q.Arg(p.Cursor.ID) + ")")
	}
	q.Add(" order by r.next_eligible_at, r.recovery_id limit " + q.Arg(p.Size()))
	return cases.Page(ctx, s.db, q, p, func(c *Case) sqldb.Cursor {
		return sqldb.Cursor{At: c.Recovery.NextEligibleAt, ID: c.Recovery.ID}
	})
}

// Exhausted lists EXHAUSTED recoveries, of one batch or of all, the last
// exhausted first.
func (s *Store) Exhausted(ctx context.Context, batch string, p sqldb.Page) ([]Case, sqldb.Cursor, error) {
	q := cases.Select("list recoveries", "where r.status = 'EXHAUSTED'")
	q.Equal("r.batch_id", batch)
	q.Newest("r.updated_at", "r.recovery_id", p)
	return cases.Page(ctx, s.db, q, p, func(c *Case) sqldb.Cursor { return sqldb.Cursor{At: c.Recovery.UpdatedAt, ID: c.Recovery.ID} })
}

// Timeline returns the AIR's rows of an intake, oldest first; of one that
// took over after a recovery, those of the failed one too.
func (s *Store) Timeline(ctx context.Context, intake recoup.ID, limit int) ([]recoup.IntakeEvent, error) {
	return airs.List(ctx, s.db, airs.Select("read the timeline", `
		where intake_id in ($1, (select previous_intake_id from cl.gate_zero_intake where intake_id = $1))
		order by air_id limit $2`, intake, sqldb.Clamp(limit)))
}

// BatchTimeline returns the AIR's rows of a batch as a whole, oldest
// first: its kill switch, its freeze.
func (s *Store) BatchTimeline(ctx context.Context, batch string, limit int) ([]recoup.IntakeEvent, error) {
	return airs.List(ctx, s.db, airs.Select("read the timeline of a batch",
		"where batch_id = $1 and intake_id is null order by air_id limit $2", batch, sqldb.Clamp(limit)))
}

// GateFigures counts batches, and intakes and recoveries by status.
func (s *Store) GateFigures(ctx context.Context) (recoup.GateZeroStatus, error) {
	return readFigures(ctx, s.db)
}

func readFigures(ctx context.Context, db sqldb.Reader) (recoup.GateZeroStatus, error) {
	list, err := sqldb.Rows(ctx, db, sqldb.NewQuery("count batches", "select count(*), count(killed_at), count(frozen_at) from cl.gate_zero_batch"),
		sqldb.Fields(func(f *recoup.GateZeroStatus) []any { return []any{&f.Batches, &f.Killed, &f.Frozen} })...)
	figures, err := sqldb.One(list, err, "batches")
	if err != nil {
		return figures, err
	}
	if figures.Intakes, err = sqldb.Counts[recoup.IntakeStatus](ctx, db, sqldb.NewQuery("count intakes", `select status, sum(n)::bigint from cl.gate_zero_count
		where status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED') group by 1`)); err != nil {
		return figures, err
	}
	figures.Recoveries, err = sqldb.Rows(ctx, db, sqldb.NewQuery("count recoveries",
		"select status, reason, sum(n)::bigint from cl.gate_zero_reason group by 1, 2 having sum(n) <> 0 order by 1, 2"),
		sqldb.Fields(func(r *recoup.RecoveryCount) []any { return []any{(*string)(&r.Status), &r.Reason, &r.N} })...)
	return figures, err
}
