package sqlite

import (
	"context"
	"strings"

	"recoup"
	"recoup/internal/store"
)

const activityCounts = `reported, parked, escalated, attempts, succeeded, retried, exhausted, expired, archived`

func activityFields(a *store.Activity) []any {
	return []any{
		&a.Reported, &a.Parked, &a.Escalated, &a.Attempts, &a.Succeeded, &a.Retried, &a.Exhausted, &a.Expired, &a.Archived,
	}
}

var (
	addActivityMinute = addActivity("activity_minute", "minute")
	addActivityHour   = addActivity("activity_hour", "hour")

	selectActivity = `select table_name, sum(` + strings.ReplaceAll(activityCounts, ", ", "), sum(") + `) from (
			select table_name, ` + activityCounts + ` from activity_hour where hour >= ?1 and hour < ?2
			union all
			select table_name, ` + activityCounts + ` from activity_minute where minute >= ?3 and minute < ?4
			union all
			select table_name, ` + activityCounts + ` from activity_minute where minute >= ?5 and minute < ?6)
		group by 1 order by 1`
)

// addActivity adds to the sums of minutes, or of hours.
func addActivity(table, key string) string {
	var set []string
	for name := range strings.SplitSeq(activityCounts, ", ") {
		set = append(set, name+" = "+name+" + excluded."+name)
	}
	return addTo(table, key+", table_name, "+activityCounts) + " on conflict do update set " + strings.Join(set, ", ")
}

// saveActivity adds up what a unit of work counts as.
func (t *tx) saveActivity(tallies store.Tallies) error {
	for _, a := range tallies.Of(t.now) {
		counts := activityFields(&a)
		if err := t.exec(addActivityMinute, append([]any{micros(a.Minute), a.Table}, counts...)...); err != nil {
			return err
		}
		if err := t.exec(addActivityHour, append([]any{micros(store.Hour(a.Minute)), a.Table}, counts...)...); err != nil {
			return err
		}
	}
	return nil
}

// FoldActivity has nothing to fold: what happens is summed up in place.
func (s *Store) FoldActivity(ctx context.Context) error { return ctx.Err() }

// Activity sums up the minutes of a span. Whole hours are summed up already.
func (s *Store) Activity(ctx context.Context, span store.Span) ([]store.Activity, error) {
	head, whole, tail := span.Minutes().Hours()
	return query(ctx, s, func(a *store.Activity) []any { return append([]any{&a.Table}, activityFields(a)...) }, selectActivity,
		micros(whole.From), micros(whole.To), micros(head.From), micros(head.To), micros(tail.From), micros(tail.To))
}

// recentEvents reads one stretch of an index for each code.
const recentEvents = `select code, coalesce(external_service, ''), count(*) from error_event indexed by error_event_code_idx
	where code in (select value from json_each(?)) and ts >= ? and ts < ? group by 1, 2 order by 1, 2`

// RecentEvents counts the events of some codes that happened in a span.
func (s *Store) RecentEvents(ctx context.Context, span store.Span, codes []recoup.Code) ([]store.RecentCount, error) {
	names := make([]string, len(codes))
	for i, code := range codes {
		names[i] = string(code)
	}
	return query(ctx, s, func(c *store.RecentCount) []any {
		return []any{text[recoup.Code]{&c.Code}, &c.ExternalService, &c.N}
	}, recentEvents, asJSON(names), micros(span.From), micros(span.To))
}
