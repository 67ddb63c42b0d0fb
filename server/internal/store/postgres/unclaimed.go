package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectUnclaimed looks at the front of each table's stretch of the queue: what
// claimDue would take. An expired lease is none of it: the leader ends the attempt
// and makes the error due anew.
const selectUnclaimed = `select t.name, '', '', c.n, c.since from unnest($1::text[]) t (name) cross join lateral (
		select count(*) as n, min(due_at) as since from (
			select due_at from recoup.due where table_name = t.name and due_at <= $2 and lease_token is null
				and (window_ends_at is null or window_ends_at >= $2) and (expires_at is null or expires_at > $2)
			order by due_at limit $3) d) c
	where c.n > 0`

// selectUnclaimedWork looks at the stretches of each lane that claimWork would take
// from, at their fronts: new work, replays that run, and expired leases.
var selectUnclaimedWork = `
	with lane as materialized (
		select l.pipeline, l.stage from unnest($1::text[], $2::text[]) l (pipeline, stage)
		where not exists (select from recoup.work_pause p where p.error_class = '' and p.pipeline in ('', l.pipeline)
			and p.stage in ('', l.stage) and (p.until is null or p.until > $3))
	), running as materialized (select replay_id from recoup.replay where state = 'RUNNING')
	select '', pipeline, stage, sum(n)::bigint, min(since) from (
		select l.pipeline, l.stage, 1 as n, d.since from lane l cross join lateral (
			select due_at as since from recoup.work_due d
			where d.pipeline = l.pipeline and d.stage = l.stage and d.replay_id = '00000000-0000-0000-0000-000000000000' and d.due_at <= $3
			order by d.due_at, d.work_id limit $4) d
		union all
		select l.pipeline, l.stage, 1, d.since from lane l cross join running r cross join lateral (
			select d.due_at as since from recoup.work_due d join recoup.work w using (work_id)
			where d.pipeline = l.pipeline and d.stage = l.stage and d.replay_id = r.replay_id and d.due_at <= $3 and ` + notPaused + `
			order by d.due_at, d.work_id limit $4) d
		union all
		select l.pipeline, l.stage, 1, w.since from lane l cross join lateral (
			select w.lease_ends_at as since from recoup.work w
			where w.pipeline = l.pipeline and w.stage = l.stage and w.lease_token is not null and w.lease_ends_at <= $3
				and (w.replay_id is null or w.replay_id in (select replay_id from running)) and ` + notPaused + `
			order by w.lease_ends_at, w.work_id limit $4) w
		union all
		select l.pipeline, l.stage, k.n, k.since from lane l cross join lateral (
			select cardinality(k.work_ids) as n, k.ends_at as since from recoup.work_lease k
			where k.pipeline = l.pipeline and k.stage = l.stage and k.ends_at <= $3
			order by k.ends_at limit $4) k) q
	group by pipeline, stage`

// Unclaimed implements [sqlops.DB].
func (d database) Unclaimed(ctx context.Context, now time.Time, tables []string, lanes []recoup.Lane, limit int) ([]store.Unclaimed, error) {
	const doing = "count what nobody has claimed"
	scan := func(row pgx.CollectableRow) (u store.Unclaimed, err error) {
		return u, row.Scan(&u.Table, &u.Lane.Pipeline, &u.Lane.Stage, &u.N, &u.Since)
	}
	rows, err := d.pool.Query(ctx, selectUnclaimed, tables, now, limit)
	list, err := collectRows(doing, rows, err, scan)
	if err != nil || len(lanes) == 0 {
		return list, err
	}
	pipelines, stages := splitLanes(lanes)
	rows, err = d.pool.Query(ctx, selectUnclaimedWork, pipelines, stages, now, limit)
	work, err := collectRows(doing, rows, err, scan)
	return append(list, work...), err
}
