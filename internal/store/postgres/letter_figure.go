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

	// selectLaneLevels goes from lane to lane by the index, and counts each as far
	// as its share of what may be counted goes.
	selectLaneLevels = `with recursive lane (pipeline, stage) as (
			(select pipeline, stage from recoup.work where due_at is not null order by pipeline, stage limit 1)
			union all
			select n.pipeline, n.stage from lane l cross join lateral (
				select w.pipeline, w.stage from recoup.work w where w.due_at is not null and (w.pipeline, w.stage) > (l.pipeline, l.stage)
				order by w.pipeline, w.stage limit 1) n),
			few as materialized (select * from lane limit $2)
		select l.pipeline, l.stage, c.* from few l cross join lateral (
			select count(*) filter (where lease_ends_at is null and due_at <= $1), count(*) filter (where lease_ends_at is null and due_at > $1),
				count(*) filter (where lease_ends_at > $1), count(*) filter (where lease_ends_at <= $1)
			from (select due_at, lease_ends_at from recoup.work w
				where w.pipeline = l.pipeline and w.stage = l.stage and w.due_at is not null
				order by coalesce(w.replay_id, '00000000-0000-0000-0000-000000000000'), w.due_at limit $3 / (select count(*) from few)) w) c`

	selectReplayLevels = `select s.state, (select count(*) from (select from recoup.replay r where r.state = s.state limit $2) r)
		from unnest($1::text[]) s (state)`

	selectOutcomes = "select state, sum(n)::bigint from recoup.replay_outcome group by 1"
)

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
	rows, err = s.pool.Query(ctx, selectLaneLevels, now, store.MaxLanes, store.MaxFigure)
	f.Lanes, err = collectRows(what, rows, err, func(row pgx.CollectableRow) (l store.LaneLevel, err error) {
		return l, row.Scan(&l.Pipeline, &l.Stage, &l.Due, &l.Delayed, &l.Leased, &l.Lapsed)
	})
	if err != nil {
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
