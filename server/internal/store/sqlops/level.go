package sqlops

import (
	"context"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var errorCounts = sqldb.Fields(func(c *recoup.StateCount) []any { return []any{&c.Table, (*string)(&c.State), &c.N} })

// Counts returns how many errors each table has in each state.
func (v Ops) Counts(ctx context.Context) ([]recoup.StateCount, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("count", `select table_name, state, sum(n)::bigint from recoup.error_count
		group by 1, 2 having sum(n) <> 0 order by 1, 2`), errorCounts...)
}

var levelSums = sqldb.Fields(func(l *store.LevelSum) []any {
	return []any{&l.Table, (*string)(&l.State), &l.TTL, &l.N, &l.Blocking, &l.Seconds, &l.Micros}
})

// Levels returns what there is at now, by table.
func (v Ops) Levels(ctx context.Context, now time.Time) ([]store.Level, error) {
	sums, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("read levels", `
		select table_name, state, `+store.CoarseTTL+`, sum(n)::bigint, sum(blocking)::bigint, sum(born_s)::bigint, sum(born_us)::bigint
		from (select *, `+store.TTLUnit+` as ttl_unit from recoup.error_count) c group by 1, 2, 3`), levelSums...)
	if err != nil {
		return nil, err
	}
	past, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("read levels of the past", `select table_name, sum(case when state in ('PARKED', 'ESCALATED') then 1 else 0 end)::bigint,
			sum(case when state = 'ESCALATED' then 1 else 0 end)::bigint, sum(case when blocking then 1 else 0 end)::bigint
		from recoup.error where historic and state in ('RETRY_PENDING', 'PARKED', 'ESCALATED') group by 1`), historicSums...)
	levels := store.Levels(now, sums)
	store.AddPast(levels, past)
	return levels, err
}

var historicSums = sqldb.Fields(func(h *store.Historic) []any { return []any{&h.Table, &h.Parked, &h.Escalated, &h.Blocking} })

var activities = store.Activities.But("minute")

// Activity sums up the minutes of a span.
func (v Ops) Activity(ctx context.Context, span store.Span) ([]store.Activity, error) {
	counts := activities.But("table_name").Names("")
	span = span.Minutes()
	q := within("sum up activity", "select table_name, sum("+strings.ReplaceAll(counts, ", ", ")::bigint, sum(")+")::bigint from (")
	minutes(q, "recoup.activity", "table_name, "+counts, span)
	q.Add(" union all ")
	sums(q, "recoup.activity_delta", "minute", "table_name, "+counts, span)
	return sqldb.Rows(ctx, v.db, q.Add(") a group by 1 order by 1"), activities.Columns...)
}

var activityHours = append([]sqldb.Column[store.Activity]{
	sqldb.Time("hour", func(a *store.Activity) *time.Time { return &a.Minute }),
}, store.ActivityCounts...)

// ActivityHours sums up the hours of a span.
func (v Ops) ActivityHours(ctx context.Context, tables []string, span store.Span) ([]store.Activity, error) {
	counts := activities.But("table_name").Names("")
	q := within("sum up activity by the hour", "select hour, sum("+strings.ReplaceAll(counts, ", ", ")::bigint, sum(")+")::bigint from recoup.activity_hour where hour >= $1 and hour < $2", span.From, span.To)
	inTables(q, v.db.Dialect(), "table_name", store.Filter{Tables: tables})
	return sqldb.Rows(ctx, v.db, q.Add(" group by 1 order by 1"), activityHours...)
}

// minutes reads the sums of the minutes of a span. Whole hours are summed up already.
func minutes(q *sqldb.Query, table, columns string, span store.Span) {
	head, whole, tail := span.Hours()
	sums(q, table+"_hour", "hour", columns, whole)
	for _, edge := range []store.Span{head, tail} {
		q.Add(" union all ")
		sums(q, table+"_minute", "minute", columns, edge)
	}
}

func sums(q *sqldb.Query, table, unit, columns string, span store.Span) {
	q.Add("select " + columns + " from " + table + " where " + unit + " >= " + q.Arg(span.From) + " and " + unit + " < " + q.Arg(span.To))
}
