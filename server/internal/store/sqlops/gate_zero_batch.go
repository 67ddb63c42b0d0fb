package sqlops

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// maxFrozen is how many batches one freeze looks after.
const maxFrozen = 100

// CreateBatch makes a batch, or returns the one of that id as it is.
func (v Ops) CreateBatch(ctx context.Context, id string, now time.Time) (recoup.IntakeBatch, error) {
	return sqldb.Act(ctx, v.db, "create a batch", func(tx Tx) (recoup.IntakeBatch, error) {
		if _, err := batches.InsertNew(tx, recoup.IntakeBatch{ID: id, CreatedAt: now}); err != nil {
			return recoup.IntakeBatch{}, err
		}
		found, err := batches.Find(tx, "where batch_id = $1", id)
		return sqldb.One(found, err, batches.Label(id))
	})
}

// StepBatch applies an input to a batch and, if its kill switch is then on, to
// each of its leased recoveries. Claims and results that are under way are
// waited for; those that come later see what was decided.
func (v Ops) StepBatch(ctx context.Context, id string, decide store.DecideCase) (recoup.IntakeBatch, error) {
	return sqldb.DecideOne(ctx, v.db, "change a batch", time.Time{}, func(tx Tx) (next recoup.IntakeBatch, refused, err error) {
		current, err := batches.Lock(tx, id, id)
		if err != nil {
			return current, nil, err
		}
		leased, err := cases.Find(tx, `where r.batch_id = $1
			and r.recovery_id`+tx.Dialect().AnyOf("select recovery_id from cl.gate_zero_lease where token is not null"), id)
		if err != nil {
			return current, nil, err
		}
		w := store.NewUnitOfWork(tx.Now(), nil)
		w.AddCases(leased)
		if next, refused = w.StepBatch(current, decide); next != current {
			err = batches.Update(tx, next)
		}
		if err == nil {
			err = save(tx, w)
		}
		return next, refused, err
	})
}

// FreezeDue ends at most limit recoveries of batches whose time is over, and
// the batches in which nothing is left. Batches and recoveries that others are
// at work on are left for the next time.
func (v Ops) FreezeDue(ctx context.Context, now time.Time, limit int, decide store.DecideCase) (int, error) {
	return sqldb.ActAt(ctx, v.db, "freeze batches", now, func(tx Tx) (int, error) {
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
		ended := len(w.StepCases(decide))
		if err := save(tx, w); err != nil {
			return 0, err
		}
		return ended, endFreeze(tx, due, names, decide)
	})
}

// endFreeze records the batches of which nothing is ACTIVE any more as frozen.
func endFreeze(tx Tx, due []recoup.IntakeBatch, names []string, decide store.DecideCase) error {
	empty, err := batches.Find(tx, `b where batch_id`+tx.Dialect().AnyText("$1")+` and not exists (
		select 1 from cl.gate_zero_recovery r /*by gate_zero_recovery_claim_idx*/
		where coalesce(r.batch_id, '') = b.batch_id and r.status = 'ACTIVE')`, names)
	if err != nil {
		return err
	}
	w, frozen := store.NewUnitOfWork(tx.Now(), nil), []recoup.IntakeBatch{}
	for _, b := range due {
		if !slices.ContainsFunc(empty, func(e recoup.IntakeBatch) bool { return e.ID == b.ID }) {
			continue
		}
		if next, err := w.StepBatch(b, decide); err == nil {
			frozen = append(frozen, next)
		}
	}
	if err := batches.Update(tx, frozen...); err != nil {
		return err
	}
	return save(tx, w)
}

var statuses = sqldb.PerDialect(func(d sqldb.Dialect) sqldb.Repository[recoup.IntakeBatchSummary] {
	return sqldb.NewView(append(sqldb.Within("b.", store.Batches.Columns, func(s *recoup.IntakeBatchSummary) *recoup.IntakeBatch { return &s.IntakeBatch }),
		sqldb.Read(`(
	select coalesce(`+d.JSONMap("status", "n")+`, '{}') from (
		select status, sum(n) as n from cl.gate_zero_count c
		where c.batch_id = b.batch_id group by 1 having sum(n) <> 0) s)`, func(s *recoup.IntakeBatchSummary) any { return (*store.BatchCounts)(s) })),
		"batch", " from cl.gate_zero_batch b")
})

// Batch returns a batch with its counts.
func (v Ops) Batch(ctx context.Context, id string) (recoup.IntakeBatchSummary, error) {
	view := statuses(v.db.Dialect())
	return view.Get(ctx, v.db, view.Select("read a batch", "where b.batch_id = $1", id), id)
}

// Batches lists batches with their counts, newest first.
func (v Ops) Batches(ctx context.Context, after store.BatchCursor, limit int) ([]recoup.IntakeBatchSummary, store.BatchCursor, error) {
	size := sqldb.Page{Limit: limit}.Size()
	view := statuses(v.db.Dialect())
	q := view.Select("list batches", "where true")
	if !after.IsZero() {
		q.Add(" and (b.created_at, b.batch_id) < (" + q.Arg(after.At) + ", " + q.Arg(after.ID) + ")")
	}
	q.Add(" order by b.created_at desc, b.batch_id desc limit " + q.Arg(size))
	list, err := view.List(ctx, v.db, q)
	return list, sqldb.Next(list, size, func(s *recoup.IntakeBatchSummary) store.BatchCursor {
		return store.BatchCursor{At: s.CreatedAt, ID: s.ID}
	}), err
}

// Intake returns the case of an intake.
func (v Ops) Intake(ctx context.Context, id recoup.ID) (store.Case, error) {
	list, err := cases.List(ctx, v.db, cases.Select("read an intake", "where i.intake_id = $1", id))
	return sqldb.One(list, err, intakes.Label(id.String()))
}

// Recovery returns the case of a recovery.
func (v Ops) Recovery(ctx context.Context, id recoup.ID) (store.Case, error) {
	list, err := cases.List(ctx, v.db, cases.Select("read a recovery", "where r.recovery_id = $1", id))
	return sqldb.One(list, err, recoveries.Label(id.String()))
}

// Eligible lists ACTIVE recoveries whose wait is over, the longest waiting first.
func (v Ops) Eligible(ctx context.Context, batch string, now time.Time, p sqldb.Page) ([]store.Case, sqldb.Cursor, error) {
	q := cases.Select("list recoveries", "where r.status = 'ACTIVE' and r.next_eligible_at <= $1", now)
	q.Equal("coalesce(r.batch_id, '')", batch)
	if !p.Cursor.IsZero() {
		q.Add(" and (r.next_eligible_at, r.recovery_id) > (" + q.Arg(p.Cursor.At) + ", " + q.Arg(p.Cursor.ID) + ")")
	}
	q.Add(" order by r.next_eligible_at, r.recovery_id limit " + q.Arg(p.Size()))
	return cases.Page(ctx, v.db, q, p, func(c *store.Case) sqldb.Cursor {
		return sqldb.Cursor{At: c.Recovery.NextEligibleAt, ID: c.Recovery.ID}
	})
}

// Exhausted lists EXHAUSTED recoveries, the last exhausted first.
func (v Ops) Exhausted(ctx context.Context, batch string, p sqldb.Page) ([]store.Case, sqldb.Cursor, error) {
	q := cases.Select("list recoveries", "where r.status = 'EXHAUSTED'")
	q.Equal("r.batch_id", batch)
	q.Newest("r.updated_at", "r.recovery_id", p)
	return cases.Page(ctx, v.db, q, p, func(c *store.Case) sqldb.Cursor { return sqldb.Cursor{At: c.Recovery.UpdatedAt, ID: c.Recovery.ID} })
}

// Timeline returns the AIR's rows of an intake, and of the failed one that
// it took over from, oldest first.
func (v Ops) Timeline(ctx context.Context, intake recoup.ID, limit int) ([]recoup.IntakeEvent, error) {
	return airs.List(ctx, v.db, airs.Select("read the timeline", `
		where intake_id in ($1, (select previous_intake_id from cl.gate_zero_intake where intake_id = $1))
		order by air_id limit $2`, intake, sqldb.Clamp(limit)))
}

// BatchTimeline returns the AIR's rows of a batch as a whole, oldest first.
func (v Ops) BatchTimeline(ctx context.Context, batch string, limit int) ([]recoup.IntakeEvent, error) {
	return airs.List(ctx, v.db, airs.Select("read the timeline of a batch",
		"where batch_id = $1 and intake_id is null order by air_id limit $2", batch, sqldb.Clamp(limit)))
}

// GateFigures counts batches, and the intakes and recoveries by status.
func (v Ops) GateFigures(ctx context.Context) (recoup.GateZeroStatus, error) {
	list, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("count batches", "select count(*), count(killed_at), count(frozen_at) from cl.gate_zero_batch"),
		sqldb.Fields(func(f *recoup.GateZeroStatus) []any { return []any{&f.Batches, &f.Killed, &f.Frozen} })...)
	figures, err := sqldb.One(list, err, "batches")
	if err != nil {
		return figures, err
	}
	if figures.Intakes, err = counts[recoup.IntakeStatus](ctx, v, sqldb.NewQuery("count intakes", `select status, sum(n)::bigint from cl.gate_zero_count
		where status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED') group by 1`)); err != nil {
		return figures, err
	}
	figures.Recoveries, err = sqldb.Rows(ctx, v.db, sqldb.NewQuery("count recoveries",
		"select status, reason, sum(n)::bigint from cl.gate_zero_reason group by 1, 2 having sum(n) <> 0 order by 1, 2"),
		sqldb.Fields(func(r *recoup.RecoveryCount) []any { return []any{(*string)(&r.Status), &r.Reason, &r.N} })...)
	return figures, err
}

// counts reads rows of a name and a number.
func counts[K ~string](ctx context.Context, v Ops, q *sqldb.Query) (map[K]int64, error) {
	type count struct {
		name string
		n    int64
	}
	list, err := sqldb.Rows(ctx, v.db, q, sqldb.Fields(func(c *count) []any { return []any{&c.name, &c.n} })...)
	m := make(map[K]int64, len(list))
	for _, c := range list {
		m[K(c.name)] = c.n
	}
	return m, err
}
