package sqlite

import (
	"context"
	"time"

	"recoup/internal/store"
)

const (
	selectLetterLevels = `select pipeline, error_class, step, n from dead_letter_level order by 1, 2, 3`
	selectUntriaged    = `select updated_at from dead_letter indexed by dead_letter_untriaged_idx
		where step = 'NEW' and closed_at is null order by updated_at limit 1`
	selectNextLane = `select pipeline, stage from work indexed by work_due_idx
		where due_at is not null and (pipeline, stage) > (?, ?) order by pipeline, stage limit 1`
	countLane = `select count(*) filter (where lease_ends_at is null and due_at <= ?3),
			count(*) filter (where lease_ends_at is null and due_at > ?3),
			count(*) filter (where lease_ends_at > ?3), count(*) filter (where lease_ends_at <= ?3)
		from (select due_at, lease_ends_at from work indexed by work_due_idx where due_at is not null and `
	selectLaneLevel   = countLane + `pipeline = ?1 and stage = ?2 limit 0 + ?4)`
	selectBeyond      = countLane + `(pipeline, stage) > (?1, ?2) limit 0 + ?4)`
	selectReplayLevel = `select count(*) from (select 1 from replay where state = ?1 limit 0 + ?2)`
	selectOutcomes    = `select state, n from replay_outcome`
)

// LetterFigures tells how staged work stands.
func (s *Store) LetterFigures(ctx context.Context, now time.Time) (f store.LetterFigures, err error) {
	f.Letters, err = query(ctx, s, func(l *store.LetterLevel) []any { return []any{&l.Pipeline, &l.Class, &l.Step, &l.N} }, selectLetterLevels)
	if err != nil {
		return f, err
	}
	oldest, err := query(ctx, s, func(t *time.Time) []any { return []any{stamp{t}} }, selectUntriaged)
	if err != nil {
		return f, err
	}
	if len(oldest) > 0 {
		f.Waiting = oldest[0]
	}
	if err := s.lanes(ctx, now, &f); err != nil {
		return f, err
	}
	f.Replays = map[store.ReplayState]int64{}
	for _, state := range store.ReplayStates() {
		n, err := query(ctx, s, func(n *int64) []any { return []any{n} }, selectReplayLevel, string(state), store.MaxFigure)
		if err != nil {
			return f, err
		}
		f.Replays[state] = n[0]
	}
	type outcome struct {
		state store.ItemState
		n     int64
	}
	outcomes, err := query(ctx, s, func(o *outcome) []any { return []any{&o.state, &o.n} }, selectOutcomes)
	f.Items = make(map[store.ItemState]int64, len(outcomes))
	for _, o := range outcomes {
		f.Items[o.state] = o.n
	}
	return f, err
}

// lanes counts the lanes, and once more, further, those that are told if they are not
// all.
func (s *Store) lanes(ctx context.Context, now time.Time, f *store.LetterFigures) error {
	var names []store.Lane
	var last store.Lane
	for len(names) < store.MaxLaneWalk {
		next, err := query(ctx, s, func(l *store.Lane) []any { return []any{&l.Pipeline, &l.Stage} }, selectNextLane, last.Pipeline, last.Stage)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			break
		}
		last = next[0]
		names = append(names, last)
	}
	levels, err := s.laneLevels(ctx, now, names)
	if err != nil || len(names) <= store.MaxLanes {
		f.Lanes = levels
		return err
	}
	largest, others := store.LargestLanes(levels)
	beyond, err := query(ctx, s, levelFields, selectBeyond, last.Pipeline, last.Stage, micros(now), store.MaxFigure)
	if err != nil {
		return err
	}
	others.Add(beyond[0])
	named := make([]store.Lane, len(largest))
	for i := range largest {
		named[i] = largest[i].Lane
	}
	f.Others = others
	f.Lanes, err = s.laneLevels(ctx, now, named)
	return err
}

func levelFields(l *store.LaneLevel) []any { return []any{&l.Due, &l.Delayed, &l.Leased, &l.Lapsed} }

// laneLevels counts each lane as far as its share of what may be counted goes.
func (s *Store) laneLevels(ctx context.Context, now time.Time, lanes []store.Lane) (list []store.LaneLevel, err error) {
	for _, lane := range lanes {
		levels, err := query(ctx, s, levelFields, selectLaneLevel, lane.Pipeline, lane.Stage, micros(now), store.MaxFigure/len(lanes))
		if err != nil {
			return nil, err
		}
		levels[0].Lane = lane
		list = append(list, levels[0])
	}
	return list, nil
}
