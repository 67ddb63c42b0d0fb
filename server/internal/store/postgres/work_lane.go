package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

var (
	// selectLaneNames goes from lane to lane by the indexes.
	selectLaneNames = "with recursive lane (pipeline, stage) as ((" + nextLane("true", "true", "true") + `)
			union all
			select n.pipeline, n.stage from lane l cross join lateral (` + nextLane(
		"(d.pipeline, d.stage) > (l.pipeline, l.stage)", "(w.pipeline, w.stage) > (l.pipeline, l.stage)", "(k.pipeline, k.stage) > (l.pipeline, l.stage)") + `) n)
		select * from lane limit $1`

	selectLaneLevels = `select l.pipeline, l.stage, c.* from unnest($3::text[], $4::text[]) with ordinality l (pipeline, stage, i)
		cross join lateral (` + countLane("(l.pipeline, l.stage)", "=", "replay_id, due_at", "lease_ends_at", "ends_at") + ") c order by l.i"

	// selectBeyond counts what lies behind the last lane that was named.
	selectBeyond = countLane("($3, $4)", ">", "pipeline, stage", "pipeline, stage", "pipeline, stage")
)

// nextLane is the first lane in which anything waits or is held, of those for which
// these hold.
func nextLane(due, work, lease string) string {
	return `select * from (
		(select d.pipeline, d.stage from recoup.work_due d where ` + due + ` order by d.pipeline, d.stage limit 1)
		union all (select w.pipeline, w.stage from recoup.work w where w.lease_token is not null and ` + work + ` order by w.pipeline, w.stage limit 1)
		union all (select k.pipeline, k.stage from recoup.work_lease k where ` + lease + ` order by k.pipeline, k.stage limit 1)) n
		order by pipeline, stage limit 1`
}

// countLane counts what waits and what is held, in the order of the indexes.
func countLane(lane, is, due, work, lease string) string {
	return `select coalesce(sum(n) filter (where due_at <= $1), 0)::bigint, coalesce(sum(n) filter (where due_at > $1), 0)::bigint,
			coalesce(sum(n) filter (where ends_at > $1), 0)::bigint, coalesce(sum(n) filter (where ends_at <= $1), 0)::bigint
		from (
			(select due_at, null::timestamptz as ends_at, 1 as n from recoup.work_due d
				where (d.pipeline, d.stage) ` + is + lane + ` order by ` + due + ` limit $2)
			union all (select null, lease_ends_at, 1 from recoup.work w
				where w.lease_token is not null and (w.pipeline, w.stage) ` + is + lane + ` order by ` + work + ` limit $2)
			union all (select null, ends_at, cardinality(work_ids) from recoup.work_lease k
				where (k.pipeline, k.stage) ` + is + lane + ` order by ` + lease + ` limit $2)) q`
}

// Lanes implements [sqlops.DB].
func (d database) Lanes(ctx context.Context, limit int) ([]recoup.Lane, error) {
	rows, err := d.pool.Query(ctx, selectLaneNames, limit)
	return collectRows(countWork, rows, err, pgx.RowToStructByPos[recoup.Lane])
}

const countWork = "count staged work"

// LaneLevels implements [sqlops.DB].
func (d database) LaneLevels(ctx context.Context, now time.Time, lanes []recoup.Lane, limit int) ([]store.LaneLevel, error) {
	pipelines, stages := splitLanes(lanes)
	rows, err := d.pool.Query(ctx, selectLaneLevels, now, limit, pipelines, stages)
	return collectRows(countWork, rows, err, func(row pgx.CollectableRow) (l store.LaneLevel, err error) {
		return l, row.Scan(&l.Pipeline, &l.Stage, &l.Due, &l.Delayed, &l.Leased, &l.Lapsed)
	})
}

// Beyond implements [sqlops.DB].
func (d database) Beyond(ctx context.Context, now time.Time, last recoup.Lane, limit int) (l store.LaneLevel, err error) {
	err = d.pool.QueryRow(ctx, selectBeyond, now, limit, last.Pipeline, last.Stage).Scan(&l.Due, &l.Delayed, &l.Leased, &l.Lapsed)
	return l, failure(countWork, err)
}

func splitLanes(lanes []recoup.Lane) (pipelines, stages []string) {
	for _, lane := range lanes {
		pipelines, stages = append(pipelines, lane.Pipeline), append(stages, lane.Stage)
	}
	return pipelines, stages
}
