package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

const (
	selectLetterLevels = `select pipeline, error_class, step, sum(n)::bigint from recoup.dead_letter_level
		group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3`

	selectUntriaged = "select updated_at from recoup.dead_letter where step = 'NEW' and closed_at is null order by updated_at limit 1"

	selectReplayLevels = `select s.state, (select count(*) from (select from recoup.replay r where r.state = s.state limit $2) r)
		from unnest($1::text[]) s (state)`

	selectOutcomes = "select state, sum(n)::bigint from recoup.replay_outcome group by 1"
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

// LetterFigures tells how staged work stands.
func (s *Store) LetterFigures(ctx context.Context, now time.Time) (f store.LetterFigures, err error) {
	const what = "count staged work"
	rows, err := s.pool.Query(ctx, selectLetterLevels)
	if f.Letters, err = collectRows(what, rows, err, pgx.RowToStructByPos[store.LetterLevel]); err != nil {
		return f, err
	}
	rows, err = s.pool.Query(ctx, selectUntriaged)
	oldest, err := collectRows(what, rows, err, pgx.RowTo[time.Time])
	if err != nil {
		return f, err
	}
	if len(oldest) > 0 {
		f.Waiting = oldest[0].UTC()
	}
	if err := s.lanes(ctx, now, &f); err != nil {
		return f, err
	}
	rows, err = s.pool.Query(ctx, selectReplayLevels, store.ReplayStates(), store.MaxFigure)
	if f.Replays, err = counts[store.ReplayState](what, rows, err); err != nil {
		return f, err
	}
	rows, err = s.pool.Query(ctx, selectOutcomes)
	f.Items, err = counts[store.ItemState](what, rows, err)
	return f, err
}

// lanes counts the lanes, and once more, further, those that are told if they are not
// all.
func (s *Store) lanes(ctx context.Context, now time.Time, f *store.LetterFigures) error {
	const what = "count staged work"
	rows, err := s.pool.Query(ctx, selectLaneNames, store.MaxLaneWalk)
	names, err := collectRows(what, rows, err, func(row pgx.CollectableRow) (l store.LaneLevel, err error) { return l, row.Scan(&l.Pipeline, &l.Stage) })
	if err != nil {
		return err
	}
	levels, err := s.laneLevels(ctx, now, names)
	if err != nil || len(names) <= store.MaxLanes {
		f.Lanes = levels
		return err
	}
	largest, others := store.LargestLanes(levels)
	last := &names[len(names)-1]
	var beyond store.LaneLevel
	err = s.pool.QueryRow(ctx, selectBeyond, now, store.MaxFigure, last.Pipeline, last.Stage).
		Scan(&beyond.Due, &beyond.Delayed, &beyond.Leased, &beyond.Lapsed)
	if err != nil {
		return failure(what, err)
	}
	others.Add(beyond)
	f.Others = others
	f.Lanes, err = s.laneLevels(ctx, now, largest)
	return err
}

// laneLevels counts each lane as far as its share of what may be counted goes.
func (s *Store) laneLevels(ctx context.Context, now time.Time, lanes []store.LaneLevel) ([]store.LaneLevel, error) {
	if len(lanes) == 0 {
		return nil, nil
	}
	pipelines, stages := make([]string, len(lanes)), make([]string, len(lanes))
	for i := range lanes {
		pipelines[i], stages[i] = lanes[i].Pipeline, lanes[i].Stage
	}
	rows, err := s.pool.Query(ctx, selectLaneLevels, now, store.MaxFigure/len(lanes), pipelines, stages)
	return collectRows("count staged work", rows, err, func(row pgx.CollectableRow) (l store.LaneLevel, err error) {
		return l, row.Scan(&l.Pipeline, &l.Stage, &l.Due, &l.Delayed, &l.Leased, &l.Lapsed)
	})
}

// counts reads rows of a name and a number.
func counts[K ~string](what string, rows pgx.Rows, err error) (map[K]int64, error) {
	type named struct {
		Name K
		N    int64
	}
	list, err := collectRows(what, rows, err, pgx.RowToStructByPos[named])
	m := make(map[K]int64, len(list))
	for _, c := range list {
		m[c.Name] = c.N
	}
	return m, err
}
