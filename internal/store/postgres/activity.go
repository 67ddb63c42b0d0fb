package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

var activityColumns = columns(store.Activities.Columns)

// writeActivity queues what a unit of work counts as: one statement, which
// appends a row for each table, so that no two writers meet.
func writeActivity(t *tx, w *store.Work, now time.Time) {
	addRows(t, "recoup.activity_delta", activityColumns, w.Tallies.Of(now), "")
}

// foldStep is how many appended rows are folded at a time.
const foldStep = 10_000

var (
	activityCounts = names(activityColumns[2:], "")
	activitySums   = func() string {
		list := make([]string, 0, len(activityColumns))
		for _, c := range activityColumns[2:] {
			list = append(list, "sum("+c.name+")::int8 as "+c.name)
		}
		return strings.Join(list, ", ")
	}()

	foldActivity = `with gone as (
			delete from recoup.activity_delta
			where ctid = any (array(select ctid from recoup.activity_delta limit $1)) returning *),
		hours as (` + addActivity("activity_hour", "hour", "date_trunc('hour', minute, 'UTC')") + `),
		minutes as (` + addActivity("activity_minute", "minute", "minute") + `)
		select count(*) from gone`
	selectActivity = `select table_name, ` + activitySums + ` from (
			select table_name, ` + activityCounts + ` from recoup.activity_hour where hour >= $1 and hour < $2
			union all
			select table_name, ` + activityCounts + ` from recoup.activity_minute where minute >= $3 and minute < $4
			union all
			select table_name, ` + activityCounts + ` from recoup.activity_minute where minute >= $5 and minute < $6
			union all
			select table_name, ` + activityCounts + ` from recoup.activity_delta where minute >= $7 and minute < $8) a
		group by 1 order by 1`
)

// addActivity adds what is gone to sums. Rows are added to in the order of their
// keys, so that two who fold do not wait for each other crosswise.
func addActivity(table, key, of string) string {
	set := make([]string, 0, len(activityColumns))
	for _, c := range activityColumns[2:] {
		set = append(set, c.name+" = s."+c.name+" + excluded."+c.name)
	}
	return "insert into recoup." + table + " as s (" + key + ", table_name, " + activityCounts + ") select " + of +
		", table_name, " + activitySums + " from gone group by 1, 2 order by 1, 2 on conflict (" + key + ", table_name) do update set " +
		strings.Join(set, ", ")
}

// FoldActivity adds what was appended to the sums, in steps.
func (s *Store) FoldActivity(ctx context.Context) error {
	for n := foldStep; n == foldStep; {
		if err := s.pool.QueryRow(ctx, foldActivity, foldStep).Scan(&n); err != nil {
			return failure("fold activity", err)
		}
	}
	return nil
}

// Activity sums up the minutes of a span. Whole hours are summed up already.
func (s *Store) Activity(ctx context.Context, span store.Span) ([]store.Activity, error) {
	span = span.Minutes()
	head, whole, tail := span.Hours()
	rows, err := s.within(ctx, selectActivity,
		whole.From, whole.To, head.From, head.To, tail.From, tail.To, span.From, span.To)
	return collectRows("sum up activity", rows, err, decode(activityColumns[1:]))
}

// RecentEvents counts the events of some codes that happened in a span. The days
// follow from the times; they keep the index of codes from being read from the
// beginning of the month on.
func (s *Store) RecentEvents(ctx context.Context, span store.Span, codes []recoup.Code) ([]store.RecentCount, error) {
	rows, err := s.within(ctx, `select code, coalesce(external_service, ''), count(*) from recoup.error_event
		where ts >= $1 and ts < $2 and code = any ($3)
			and day >= ($1 at time zone 'UTC')::date and day <= ($2 at time zone 'UTC')::date
		group by 1, 2 order by 1, 2`, span.From, span.To, codes)
	return collectRows("count recent events", rows, err, func(row pgx.CollectableRow) (c store.RecentCount, err error) {
		err = row.Scan(&c.Code, &c.ExternalService, &c.N)
		return c, err
	})
}
