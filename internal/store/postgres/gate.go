package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

var (
	// What the kill switch and the freeze hold back is passed over batch by
	// batch. Of every open batch as many are locked as may be needed, and the
	// longest waiting of all are taken.
	claimRecoveries = `
		select r.recovery_id from (
			select '' as batch_id union all
			select batch_id from cl.gate_zero_batch
			where frozen_at is null and killed_at is null and (batch_freeze_at is null or batch_freeze_at > ` + clockOr("$1") + `)) b
		cross join lateral (
			select recovery_id, next_eligible_at from cl.gate_zero_recovery r
			where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE' and next_eligible_at <= ` + clockOr("$1") + ` and ` + unheld + `
			order by next_eligible_at, recovery_id limit $2 for no key update of r skip locked) r
		where $3::text = '' or b.batch_id = $3
		order by r.next_eligible_at, r.recovery_id limit $2`

	freezeRecoveries = `
		select f.recovery_id from unnest($2::text[]) as b (batch_id)
		cross join lateral (
			select recovery_id from cl.gate_zero_recovery r
			where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE' and ` + unheld + `
			limit $3 for no key update of r skip locked) f
		limit $3`
)

// unheld is a recovery r that no worker holds at $1.
var unheld = `not exists (select from cl.gate_zero_lease l where l.recovery_id = r.recovery_id and l.ends_at > ` + clockOr("$1") + `)`

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

// Eligible implements [verb.Tx].
func (a *act) Eligible(batch string, limit int) ([]recoup.ID, error) {
	return a.ids(a.send, claimRecoveries, a.due(), limit, batch)
}

// Pending implements [verb.Tx].
func (a *act) Pending(batch string, limit int) ([]recoup.ID, error) {
	return a.ids(a.lock, pendingIntakes, a.due(), limit, batch)
}

// Freezable implements [verb.Tx].
func (a *act) Freezable(batches []string, limit int) ([]recoup.ID, error) {
	return a.ids(a.send, freezeRecoveries, a.due(), batches, limit)
}

func (a *act) ids(send func(context.Context) error, sql string, args ...any) (ids []recoup.ID, err error) {
	collect(a.queue(sql, args...), pgx.RowTo[recoup.ID], &ids)
	err = send(a.ctx)
	return ids, err
}

// intakeColumns are those of intakes on the wire.
var intakeColumns = columns(store.Intakes.Columns)

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
	return list, lastOf(list, p, func(i *store.Intake) store.Cursor { return store.Cursor{At: i.CreatedAt, ID: i.ID} }), err
}

// FoldBatchCounts replaces appended deltas by their sums.
func (s *Store) FoldBatchCounts(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		with old as (delete from cl.gate_zero_count returning batch_id, status, n),
		reasons as (delete from cl.gate_zero_reason returning status, reason, n),
		folded as (insert into cl.gate_zero_reason
			select status, reason, sum(n) from reasons group by 1, 2 having sum(n) <> 0)
		insert into cl.gate_zero_count
		select batch_id, status, sum(n) from old group by 1, 2 having sum(n) <> 0`)
	return failure("fold the counts of batches", err)
}
