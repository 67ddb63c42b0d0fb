package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

var activityColumns = columns(store.Activities.Columns)

// writeActivity queues what a unit of work counts as: one statement, which
// appends a row for each table, so that no two writers meet.
func writeActivity(t *tx, w *store.UnitOfWork, now time.Time) {
	addRows(t, "recoup.activity_delta", activityColumns, w.Tallies.Of(now), "")
}

var stagedColumns = columns(store.StagedActivities.Columns)

// writeStaged queues what an act does to the queues of work, in the same way.
func writeStaged(t *tx, tallies store.StagedTallies) {
	addRows(t, "recoup.staged_delta", stagedColumns, tallies.Of(t.now), "")
}

// foldStep is how many appended rows are folded at a time.
const foldStep = 10_000

var foldActivity = `with gone as (
		delete from recoup.activity_delta
		where ctid = any (array(select ctid from recoup.activity_delta limit $1)) returning *),
	hours as (` + addActivity("hour", "date_trunc('hour', minute, 'UTC')") + `),
	minutes as (` + addActivity("minute", "minute") + `)
	select count(*) from gone`

const foldStaged = `with gone as (
		delete from recoup.staged_delta
		where ctid = any (array(select ctid from recoup.staged_delta limit $1)) returning *),
	minutes as (insert into recoup.staged_minute as s (minute, pipeline, queued, finished)
		select minute, pipeline, sum(queued), sum(finished) from gone group by 1, 2 order by 1, 2
		on conflict (minute, pipeline) do update set queued = s.queued + excluded.queued, finished = s.finished + excluded.finished)
	select count(*) from gone`

// addActivity adds what is gone to sums. Rows are added to in the order of their
// keys, so that two who fold do not wait for each other crosswise.
func addActivity(unit, of string) string {
	var names, sums, set []string
	for _, c := range store.ActivityCounts {
		names, sums = append(names, c.Name), append(sums, "sum("+c.Name+")")
		set = append(set, c.Name+" = s."+c.Name+" + excluded."+c.Name)
	}
	return "insert into recoup.activity_" + unit + " as s (" + unit + ", table_name, " + strings.Join(names, ", ") + ") select " + of +
		", table_name, " + strings.Join(sums, ", ") + " from gone group by 1, 2 order by 1, 2 on conflict (" + unit + ", table_name) do update set " +
		strings.Join(set, ", ")
}

// FoldActivity adds what was appended to the sums, in chunks.
func (s *Store) FoldActivity(ctx context.Context) error {
	if err := s.fold(ctx, "fold activity", foldActivity, foldStep); err != nil {
		return err
	}
	return s.fold(ctx, "fold the activity of queues", foldStaged, foldStep)
}
