package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Counts that were appended and not added to the sums yet are in tables of their own,
// whose names end in _delta. SQLite adds them in place, and has empty views for them.

// within asks about a span of time.
func within(doing, sql string, args ...any) *sqldb.Query {
	q := sqldb.NewQuery(doing, sql, args...)
	q.Span = true
	return q
}

var codeCounts = sqldb.Fields(func(c *recoup.CodeCount) []any { return []any{(*string)(&c.Code), &c.Count} })

// TopCodes returns the codes with the most events in a span. Whole hours are
// counted already; only the events at the edges are looked at. One statement
// sees sums, what is not folded yet and events as of one moment.
func (v Ops) TopCodes(ctx context.Context, span store.Span, limit int) ([]recoup.CodeCount, error) {
	head, whole, tail := span.Hours()
	return sqldb.Rows(ctx, v.db, within("count codes", `
		select code, sum(n)::bigint from (
			select code, sum(count) as n from recoup.error_aggregate_hourly where hour >= $1 and hour < $2 group by 1
			union all select code, sum(count) from recoup.error_aggregate_delta where hour >= $1 and hour < $2 group by 1
			union all select code, count(*) from recoup.error_event where ts >= $3 and ts < $4 group by 1
			union all select code, count(*) from recoup.error_event where ts >= $5 and ts < $6 group by 1) c
		group by 1 order by sum(n) desc, code collate "C" limit $7`,
		whole.From, whole.To, head.From, head.To, tail.From, tail.To, sqldb.Clamp(limit)), codeCounts...)
}

var hourCounts = sqldb.Fields(func(h *store.HourCount) []any { return []any{&h.Hour, &h.N} })

// EventHours counts the events of the hours of a span.
func (v Ops) EventHours(ctx context.Context, code recoup.Code, span store.Span) ([]store.HourCount, error) {
	q := within("count events by the hour", "select hour, sum(count)::bigint from (")
	for i, table := range []string{"hourly", "delta"} {
		if i > 0 {
			q.Add(" union all ")
		}
		sums(q, "recoup.error_aggregate_"+table, "hour", "hour, count", span)
		q.Equal("code", string(code))
	}
	return sqldb.Rows(ctx, v.db, q.Add(") e group by 1 order by 1"), hourCounts...)
}

var serviceRates = sqldb.Fields(func(r *recoup.ServiceRate) []any { return []any{&r.Service, &r.Retryable, &r.Total} })

// RetryableRates returns the retryable share of every service.
func (v Ops) RetryableRates(ctx context.Context, from, to time.Time) ([]recoup.ServiceRate, error) {
	q := byDay("count services", "service, sum(retryable_count)::bigint, sum(count)::bigint", store.DailyFilter{}, from, to)
	return sqldb.Rows(ctx, v.db, q.Add(` group by service order by 1.0 * sum(retryable_count) / sum(count) desc, service collate "C"`), serviceRates...)
}

var dailyCounts = sqldb.Fields(func(c *store.DailyCount) []any {
	return []any{&c.Day, &c.Service, (*string)(&c.Code), &c.Count, &c.Retryable, &c.LastSeen}
})

// Daily returns the counts per day.
func (v Ops) Daily(ctx context.Context, f store.DailyFilter, from, to time.Time) ([]store.DailyCount, error) {
	q := byDay("count days", "day::timestamptz, service, code, sum(count)::bigint, sum(retryable_count)::bigint, max(last_seen_at)", f, from, to)
	return sqldb.Rows(ctx, v.db, q.Add(` group by day, service, code order by day, service collate "C", code collate "C"`), dailyCounts...)
}

// byDay begins a question about the counts per day, folded or not.
func byDay(doing, what string, f store.DailyFilter, from, to time.Time) *sqldb.Query {
	const rest = "service, code, count, retryable_count, last_seen_at from recoup.error_aggregate_"
	q := within(doing, "select "+what+" from (select day, "+rest+"daily", store.Day(from), store.Day(to))
	switch {
	case f.Service != "":
		q.Add(" /*by error_aggregate_daily_service_idx*/")
	case f.Code != "":
		q.Add(" /*by error_aggregate_daily_code_idx*/")
	}
	only := func() {
		q.Equal("service", f.Service)
		q.Equal("code", string(f.Code))
	}
	q.Add(" where day between $1 and $2")
	only()
	q.Add(" union all select (hour at time zone 'UTC')::date, " + rest + "delta where (hour at time zone 'UTC')::date between $1 and $2")
	only()
	return q.Add(") d")
}

var drops = sqldb.Fields(func(d *store.Drop) []any { return []any{&d.Day, &d.Reason, &d.N} })

// Drops returns what was left out of the ledger.
func (v Ops) Drops(ctx context.Context, from, to time.Time) ([]store.Drop, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read drops", `select day::timestamptz, reason, sum(n)::bigint from recoup.event_drop
		where day between $1 and $2 group by day, reason order by day, reason collate "C"`, store.Day(from), store.Day(to)), drops...)
}

var recentCounts = sqldb.Fields(func(c *store.RecentCount) []any { return []any{(*string)(&c.Code), &c.ExternalService, &c.N} })

// RecentEvents counts the events of some codes that happened in a span. The days
// follow from the times; they keep PostgreSQL's index of codes from being read from
// the beginning of the month on.
func (v Ops) RecentEvents(ctx context.Context, span store.Span, codes []recoup.Code) ([]store.RecentCount, error) {
	return sqldb.Rows(ctx, v.db, within("count recent events", `
		select code, external_service, count(*) from recoup.error_event /*by error_event_code_idx*/
		where ts >= $1 and ts < $2 and code`+v.db.Dialect().AnyText("$3")+` and day >= $4::date and day <= $5::date
		group by 1, 2 order by 1, coalesce(external_service, '')`,
		span.From, span.To, sqldb.Texts(codes), store.Day(span.From), store.Day(span.To)), recentCounts...)
}
