package sqlops

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// addProcessed adds to the counts of minutes, or of hours.
func addProcessed(unit string) string {
	return `insert into recoup.processed_` + unit + ` as p (` + unit + `, table_name, service, n, failed, duration_us, failed_us)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (` + unit + `, table_name, service) do update set
		n = p.n + excluded.n, failed = p.failed + excluded.failed, duration_us = p.duration_us + excluded.duration_us,
		failed_us = p.failed_us + excluded.failed_us`
}

// AddProcessed adds to the counts. Rows are added to in the order of their keys, so
// that nodes do not wait for each other crosswise.
func (v Ops) AddProcessed(ctx context.Context, counts []store.Processed) error {
	if len(counts) == 0 {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(counts), func(a, b store.Processed) int {
		return cmp.Or(store.Minute(a.Minute).Compare(store.Minute(b.Minute)), strings.Compare(a.Table, b.Table), strings.Compare(a.Service, b.Service))
	})
	minutes, hours := make([][]any, len(sorted)), make([][]any, len(sorted))
	for i, c := range sorted {
		rest := []any{c.Table, c.Service, c.N, c.Failed, c.Duration.Microseconds(), c.FailedDuration.Microseconds()}
		minutes[i] = append([]any{store.Minute(c.Minute)}, rest...)
		hours[i] = append([]any{store.Hour(c.Minute)}, rest...)
	}
	return v.db.Act(ctx, "count what was processed", time.Time{}, func(tx Tx) error {
		if _, err := tx.Change(addProcessed("minute"), minutes...); err != nil {
			return err
		}
		_, err := tx.Change(addProcessed("hour"), hours...)
		return err
	})
}

var processed = sqldb.Fields(func(p *store.Processed) []any {
	return []any{&p.Table, &p.Service, &p.N, &p.Failed, &p.Duration, &p.FailedDuration}
})

// Processed sums up the minutes of a span.
func (v Ops) Processed(ctx context.Context, span store.Span, f store.ProcessedFilter) ([]store.Processed, error) {
	q := within("sum up what was processed",
		"select table_name, service, sum(n)::bigint, sum(failed)::bigint, sum(duration_us)::bigint, sum(failed_us)::bigint from (")
	minutes(q, "recoup.processed", "table_name, service, n, failed, duration_us, failed_us", span.Minutes())
	q.Add(") p where true")
	q.Equal("table_name", f.Table)
	q.Equal("service", f.Service)
	return sqldb.Rows(ctx, v.db, q.Add(" group by 1, 2 order by 1, 2"), processed...)
}

// PurgeProcessed deletes at most limit counts of minutes and as many of hours
// that are over at a time.
func (v Ops) PurgeProcessed(ctx context.Context, before time.Time, limit int) (int, error) {
	return v.purgeSums(ctx, "processed", "table_name, service", before, limit)
}

// PurgeActivity deletes at most limit sums of minutes, as many of hours, and as many of
// the queues of work, that are over at a time.
func (v Ops) PurgeActivity(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := v.purgeSums(ctx, "activity", "table_name", before, limit)
	if err != nil {
		return n, err
	}
	staged, err := v.purge(ctx, "purge sums", `delete from recoup.staged_minute where (minute, pipeline) in (select minute, pipeline from recoup.staged_minute
		where minute < $1 order by minute limit $2`+v.db.Dialect().ForUpdate("update skip locked")+")", store.Hour(before), max(limit, 0))
	return n + staged, err
}

func (v Ops) purgeSums(ctx context.Context, of, key string, before time.Time, limit int) (int, error) {
	return sqldb.Act(ctx, v.db, "purge sums", func(tx Tx) (total int, err error) {
		for _, unit := range []string{"minute", "hour"} {
			table, key := "recoup."+of+"_"+unit, unit+", "+key
			n, err := tx.Change("delete from "+table+" where ("+key+") in (select "+key+" from "+table+
				" where "+unit+" < $1 order by "+unit+" limit $2"+tx.Dialect().ForUpdate("update skip locked")+")", []any{store.Hour(before), max(limit, 0)})
			if err != nil {
				return 0, err
			}
			total += n
		}
		return total, nil
	})
}
