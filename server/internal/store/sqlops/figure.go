package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var letterLevels = sqldb.NewView([]sqldb.Column[store.DeadLetterLevel]{
	sqldb.Text("pipeline", func(l *store.DeadLetterLevel) *string { return &l.Pipeline }),
	sqldb.Text("error_class", func(l *store.DeadLetterLevel) *string { return (*string)(&l.Class) }),
	sqldb.Text("step", func(l *store.DeadLetterLevel) *string { return (*string)(&l.Step) }),
	sqldb.Big("sum(n)::bigint", func(l *store.DeadLetterLevel) *int64 { return &l.N }),
}, "level", " from recoup.dead_letter_level group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3")

// StagedFigures counts dead letters, queued work and replays.
func (v Ops) StagedFigures(ctx context.Context, now time.Time) (f store.StagedFigures, err error) {
	const what = "count staged work"
	if f.Letters, err = letterLevels.List(ctx, v.db, letterLevels.Select(what, "")); err != nil {
		return f, err
	}
	oldest, err := sqldb.Rows(ctx, v.db, untriaged(what), sqldb.Time("updated_at", func(t *time.Time) *time.Time { return t }))
	if err != nil {
		return f, err
	}
	f.Waiting = append(oldest, time.Time{})[0]
	if f.Lanes, f.Others, err = v.StagedLevels(ctx, now); err != nil {
		return f, err
	}
	f.Replays = map[recoup.ReplayState]int64{}
	for _, state := range recoup.ReplayStates() {
		n, err := sqldb.Rows(ctx, v.db, ofState(what, state), sqldb.Big("n", func(n *int64) *int64 { return n }))
		if err != nil {
			return f, err
		}
		f.Replays[state] = n[0]
	}
	f.Items, err = sqldb.Counts[recoup.ItemState](ctx, v.db, sqldb.NewQuery(what, "select state, sum(n)::bigint from recoup.replay_outcome group by 1"))
	return f, err
}

func untriaged(doing string) *sqldb.Query {
	return sqldb.NewQuery(doing, `select updated_at from recoup.dead_letter /*by dead_letter_untriaged_idx*/
		where step = 'NEW' and closed_at is null order by updated_at limit 1`)
}

func ofState(doing string, state recoup.ReplayState) *sqldb.Query {
	return sqldb.NewQuery(doing, "select count(*) from (select 1 from recoup.replay where state = $1 limit $2) s", string(state), store.MaxFigure)
}

// StagedLevels counts the lanes, and, if there are too many, those that are returned once
// more, further. Each is counted as far as its share of what may be counted goes.
func (v Ops) StagedLevels(ctx context.Context, now time.Time) (largest []store.LaneLevel, others store.LaneLevel, err error) {
	names, err := v.db.Lanes(ctx, store.MaxLaneWalk)
	if err != nil || len(names) == 0 {
		return nil, others, err
	}
	largest, err = v.db.LaneLevels(ctx, now, names, store.MaxFigure/len(names))
	if err != nil || len(names) <= store.MaxLanes {
		return largest, others, err
	}
	largest, others = store.LargestLanes(largest)
	beyond, err := v.db.Beyond(ctx, now, names[len(names)-1], store.MaxFigure)
	if err != nil {
		return nil, others, err
	}
	others.Add(beyond)
	kept := make([]recoup.Lane, len(largest))
	for i := range largest {
		kept[i] = largest[i].Lane
	}
	largest, err = v.db.LaneLevels(ctx, now, kept, store.MaxFigure/len(kept))
	return largest, others, err
}
