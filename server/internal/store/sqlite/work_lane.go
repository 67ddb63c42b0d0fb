package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	selectNextLane = `select pipeline, stage from work indexed by work_due_idx
		where due_at is not null and (pipeline, stage) > (?, ?) order by pipeline, stage limit 1`
	countLane = `select count(*) filter (where lease_ends_at is null and due_at <= ?3),
			count(*) filter (where lease_ends_at is null and due_at > ?3),
			count(*) filter (where lease_ends_at > ?3), count(*) filter (where lease_ends_at <= ?3)
		from (select due_at, lease_ends_at from work indexed by work_due_idx where due_at is not null and `
	selectLaneLevel = countLane + `pipeline = ?1 and stage = ?2 limit 0 + ?4)`
	selectBeyond    = countLane + `(pipeline, stage) > (?1, ?2) limit 0 + ?4)`
)

// Lanes implements [sqlops.DB]: it goes from lane to lane by the index.
func (d database) Lanes(ctx context.Context, limit int) (lanes []recoup.Lane, err error) {
	for last := (recoup.Lane{}); len(lanes) < limit; {
		next, err := query(ctx, d.Store, func(l *recoup.Lane) []any { return []any{&l.Pipeline, &l.Stage} }, selectNextLane, last.Pipeline, last.Stage)
		if err != nil || len(next) == 0 {
			return lanes, err
		}
		last = next[0]
		lanes = append(lanes, last)
	}
	return lanes, nil
}

// LaneLevels implements [sqlops.DB].
func (d database) LaneLevels(ctx context.Context, now time.Time, lanes []recoup.Lane, limit int) (list []store.LaneLevel, err error) {
	for _, lane := range lanes {
		level, err := d.level(ctx, selectLaneLevel, now, lane, limit)
		if err != nil {
			return nil, err
		}
		list = append(list, level)
	}
	return list, nil
}

// Beyond implements [sqlops.DB].
func (d database) Beyond(ctx context.Context, now time.Time, last recoup.Lane, limit int) (store.LaneLevel, error) {
	return d.level(ctx, selectBeyond, now, last, limit)
}

func (d database) level(ctx context.Context, text string, now time.Time, lane recoup.Lane, limit int) (store.LaneLevel, error) {
	levels, err := query(ctx, d.Store, func(l *store.LaneLevel) []any { return []any{&l.Due, &l.Delayed, &l.Leased, &l.Lapsed} },
		text, lane.Pipeline, lane.Stage, micros(now), limit)
	if err != nil {
		return store.LaneLevel{}, err
	}
	levels[0].Lane = lane
	return levels[0], nil
}
