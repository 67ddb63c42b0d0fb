package sqlops

import (
	"context"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// parkDeadlines are where the deadlines of what is parked are. Each has its index, which
// has the table too: nothing else of an error is read.
var parkDeadlines = map[store.ParkDeadline]deadline{
	store.ParkReview: {at: "review_due_at", from: "recoup.error" + sqldb.IndexedBy("error_review_idx"), where: "review_due_at is not null"},
	store.ParkExpiry: {at: "expires_at", from: "recoup.error" + sqldb.IndexedBy("error_park_expiry_idx"), where: "parked_at is not null and expires_at is not null"},
}

var deadlineCounts = sqldb.Fields(func(c *store.DeadlineCount) []any { return []any{&c.Table, &c.Bucket, &c.N, &c.First} })

// ParkDeadlines counts deadlines of parked errors by table and bucket.
func (v Ops) ParkDeadlines(ctx context.Context, kind store.ParkDeadline, edges []time.Time) ([]store.DeadlineCount, error) {
	of := parkDeadlines[kind]
	q := sqldb.NewQuery("count deadlines", "select table_name, ")
	if len(edges) == 0 {
		q.Add("0")
	} else {
		q.Add("case")
		for i, edge := range edges {
			q.Add(" when at < " + q.Arg(edge) + " then " + strconv.Itoa(i))
		}
		q.Add(" else " + strconv.Itoa(len(edges)) + " end")
	}
	q.Add(", count(*), min(at) from (select table_name, " + of.at + " as at from " + of.from + " where " + of.where +
		" order by " + of.at + " limit " + q.Arg(store.MaxDeadlines) + ") d group by 1, 2 order by 1, 2")
	return sqldb.Rows(ctx, v.db, q, deadlineCounts...)
}

var stagedActivities = store.StagedActivities.But("minute").Columns

// StagedActivity sums up the minutes of a span.
func (v Ops) StagedActivity(ctx context.Context, span store.Span) ([]store.StagedActivity, error) {
	span = span.Minutes()
	q := within("sum up the activity of queues", "select pipeline, sum(queued)::bigint, sum(finished)::bigint from (")
	sums(q, "recoup.staged_minute", "minute", "pipeline, queued, finished", span)
	q.Add(" union all ")
	sums(q, "recoup.staged_delta", "minute", "pipeline, queued, finished", span)
	return sqldb.Rows(ctx, v.db, q.Add(") a group by 1 order by 1"), stagedActivities...)
}

var hourlyActivities = append(append([]sqldb.Column[store.Activity]{}, activityHours[0], activities.Columns[0]), store.ActivityCounts...)

// HourlyActivity returns the hours of a span by table.
func (v Ops) HourlyActivity(ctx context.Context, span store.Span) ([]store.Activity, error) {
	q := within("read activity by the hour", "select hour, "+activities.Names("")+" from recoup.activity_hour where hour >= $1 and hour < $2 order by hour, table_name", span.From, span.To)
	return sqldb.Rows(ctx, v.db, q, hourlyActivities...)
}
