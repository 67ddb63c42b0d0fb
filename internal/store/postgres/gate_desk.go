package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// pendingIntakes are those that wait for their first result and that nobody is
// at, batch by batch, so that what a kill switch holds back is not in the way.
// The intakes of a frozen batch are among them: they get their first result.
var pendingIntakes = `
	select i.intake_id from (
		select '' as batch_id union all select batch_id from cl.gate_zero_batch where killed_at is null) b
	cross join lateral (
		select intake_id from cl.gate_zero_intake i
		where coalesce(i.batch_id, '') = b.batch_id and status = 'PENDING'
		and not exists (select from cl.gate_zero_turn t where t.intake_id = i.intake_id and t.ends_at > ` + clockOr("$1") + `)
		order by intake_id limit $2 for no key update of i skip locked) i
	where $3::text = '' or b.batch_id = $3
	order by i.intake_id limit $2`

// ClaimPending hands intakes that nobody has verified yet to a worker, the oldest
// first. Rows that another claimer holds at this moment are passed over; whether
// somebody is at an intake is asked again once it is locked.
func (s *Store) ClaimPending(ctx context.Context, claim store.IntakeClaim) (taken []store.Intake, at time.Time, err error) {
	if claim.Limit <= 0 {
		return nil, time.Time{}, nil
	}
	err = s.gate(ctx, "claim intakes", claim.Now, func(t *tx) error {
		taken = nil
		var ids, free []recoup.ID
		collect(t.queue(pendingIntakes, t.due(), clamp(claim.Limit), claim.Batch), pgx.RowTo[recoup.ID], &ids)
		if err := t.lock(ctx); err != nil || len(ids) == 0 {
			return err
		}
		at = t.now
		collect(t.queue(`insert into cl.gate_zero_turn as t select unnest($1::uuid[]), $2, $3
			on conflict (intake_id) do update set worker = excluded.worker, ends_at = excluded.ends_at where t.ends_at <= $4
			returning intake_id`, raw(ids), claim.Worker, at.Add(claim.Lease), at), pgx.RowTo[recoup.ID], &free)
		if err := t.send(ctx); err != nil {
			return err
		}
		collect(t.queue("select "+names(intakeColumns, "")+` from cl.gate_zero_intake
			where intake_id = any ($1::uuid[]) and status = 'PENDING' order by intake_id`, raw(free)), decode(intakeColumns), &taken)
		return t.send(ctx)
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return taken, at, nil
}

// ReturnPending lets others claim an intake that was handed to a worker.
func (s *Store) ReturnPending(ctx context.Context, id recoup.ID, worker string, until time.Time) error {
	return s.gate(ctx, "return an intake", time.Time{}, func(t *tx) error {
		t.queue("delete from cl.gate_zero_turn where intake_id = $1 and worker = $2 and ends_at = $3", id[:], worker, until)
		return t.send(ctx)
	})
}

// Intakes lists intakes, newest first. Of every batch and status in question as
// many are read as may be needed, and the newest of all are taken.
func (s *Store) Intakes(ctx context.Context, f store.IntakeFilter, p store.Page) ([]store.Intake, store.Cursor, error) {
	q := query{}
	beyond := ""
	if !p.Cursor.IsZero() {
		beyond = " and intake_id < " + q.arg(p.Cursor.ID[:])
	}
	size := q.arg(p.Size())
	q.add("select " + names(intakeColumns, "") + " from cl.gate_zero_intake where true")
	if f == (store.IntakeFilter{}) {
		q.add(beyond)
	} else {
		statuses := []store.IntakeStatus{f.Status}
		if f.Status == "" {
			statuses = store.IntakeStatuses()
		}
		batches := "(select '' as batch_id union all select batch_id from cl.gate_zero_batch)"
		if f.Batch != "" {
			batches = "(select " + q.arg(f.Batch) + "::text as batch_id)"
		}
		q.add(` and intake_id in (select x.intake_id from ` + batches + ` b, unnest(` + q.arg(statuses) + `::text[]) s (status),
			lateral (select intake_id from cl.gate_zero_intake i where coalesce(i.batch_id, '') = b.batch_id and i.status = s.status` +
			beyond + ` order by intake_id desc limit ` + size + `) x order by 1 desc limit ` + size + `)`)
	}
	q.add(" order by intake_id desc limit " + size)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list intakes", rows, err, decode(intakeColumns))
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.CreatedAt, ID: last.ID}, nil
}

// GateFigures counts batches, and the intakes and recoveries by status.
func (s *Store) GateFigures(ctx context.Context) (f store.GateFigures, err error) {
	row := s.pool.QueryRow(ctx, "select count(*), count(killed_at), count(frozen_at) from cl.gate_zero_batch")
	if err := row.Scan(&f.Batches, &f.Killed, &f.Frozen); err != nil {
		return f, failure("count batches", err)
	}
	type total struct {
		Status store.IntakeStatus
		N      int64
	}
	rows, err := s.pool.Query(ctx, `select status, sum(n)::bigint from cl.gate_zero_count
		where status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED') group by 1`)
	totals, err := collectRows("count intakes", rows, err, pgx.RowToStructByPos[total])
	if err != nil {
		return f, err
	}
	f.Intakes = make(map[store.IntakeStatus]int64, len(totals))
	for _, t := range totals {
		f.Intakes[t.Status] = t.N
	}
	rows, err = s.pool.Query(ctx, "select status, reason, sum(n)::bigint from cl.gate_zero_reason group by 1, 2 having sum(n) <> 0 order by 1, 2")
	f.Recoveries, err = collectRows("count recoveries", rows, err, pgx.RowToStructByPos[store.ReasonCount])
	return f, err
}
