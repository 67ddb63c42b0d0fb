package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// TopCodes returns the codes with the most events in a span. Whole hours are
// counted already; only the events at the edges are looked at. One statement
// sees sums, what is not folded yet and events as of one moment.
func (s *Store) TopCodes(ctx context.Context, span store.Span, limit int) ([]store.CodeCount, error) {
	head, whole, tail := span.Hours()
	rows, err := s.within(ctx, `
		select code, sum(n)::bigint from (
			select code, sum(count) as n from recoup.error_aggregate_hourly where hour >= $1 and hour < $2 group by 1
			union all select code, sum(count) from recoup.error_aggregate_delta where hour >= $1 and hour < $2 group by 1
			union all select code, count(*) from recoup.error_event where ts >= $3 and ts < $4 group by 1
			union all select code, count(*) from recoup.error_event where ts >= $5 and ts < $6 group by 1) c
		group by 1 order by sum(n) desc, code collate "C" limit $7`,
		whole.From, whole.To, head.From, head.To, tail.From, tail.To, clamp(limit))
	return collectRows("count codes", rows, err, func(row pgx.CollectableRow) (c store.CodeCount, err error) {
		err = row.Scan(&c.Code, &c.Count)
		return c, err
	})
}

// byDay is every count per day, folded or not.
const byDay = ` from (
		select day, service, code, count, retryable_count, last_seen_at from recoup.error_aggregate_daily
		where day between $1 and $2
		union all
		select (hour at time zone 'UTC')::date, service, code, count, retryable_count, last_seen_at from recoup.error_aggregate_delta
		where (hour at time zone 'UTC')::date between $1 and $2) d `

// RetryableRates returns the retryable share of every service.
func (s *Store) RetryableRates(ctx context.Context, from, to time.Time) ([]store.ServiceRate, error) {
	rows, err := s.within(ctx, "select service, sum(retryable_count)::bigint, sum(count)::bigint"+byDay+
		`group by 1 order by sum(retryable_count) / sum(count) desc, service collate "C"`, store.Day(from), store.Day(to))
	return collectRows("count services", rows, err, func(row pgx.CollectableRow) (r store.ServiceRate, err error) {
		err = row.Scan(&r.Service, &r.Retryable, &r.Total)
		return r, err
	})
}

// Daily returns the counts per day.
func (s *Store) Daily(ctx context.Context, f store.DailyFilter, from, to time.Time) ([]store.DailyCount, error) {
	rows, err := s.within(ctx, "select day, service, code, sum(count)::bigint, sum(retryable_count)::bigint, max(last_seen_at)"+byDay+
		`where ($3 = '' or service = $3) and ($4 = '' or code = $4)
		group by 1, 2, 3 order by day, service collate "C", code collate "C"`, store.Day(from), store.Day(to), f.Service, string(f.Code))
	return collectRows("count days", rows, err, func(row pgx.CollectableRow) (c store.DailyCount, err error) {
		err = row.Scan(&c.Day, &c.Service, &c.Code, &c.Count, &c.Retryable, &c.LastSeen)
		c.LastSeen = c.LastSeen.UTC()
		return c, err
	})
}

// CountDrops notes what was left out of the ledger.
func (s *Store) CountDrops(ctx context.Context, drops []store.Drop) error {
	var days []time.Time
	var reasons []string
	var n []int64
	for _, d := range drops {
		days, reasons, n = append(days, store.Day(d.Day)), append(reasons, d.Reason), append(n, d.N)
	}
	_, err := s.pool.Exec(ctx, "insert into recoup.event_drop select * from unnest($1::date[], $2::text[], $3::bigint[])", days, reasons, n)
	return failure("count drops", err)
}

// Drops returns what was left out of the ledger.
func (s *Store) Drops(ctx context.Context, from, to time.Time) ([]store.Drop, error) {
	rows, err := s.pool.Query(ctx, `select day, reason, sum(n)::bigint from recoup.event_drop
		where day between $1 and $2 group by 1, 2 order by day, reason collate "C"`, store.Day(from), store.Day(to))
	return collectRows("read drops", rows, err, func(row pgx.CollectableRow) (d store.Drop, err error) {
		err = row.Scan(&d.Day, &d.Reason, &d.N)
		return d, err
	})
}

// foldBatch is how much is folded in one transaction.
const foldBatch = 50_000

// FoldRollups adds what was appended to the sums, in bounded steps.
func (s *Store) FoldRollups(ctx context.Context) error {
	for {
		var n int
		err := s.pool.QueryRow(ctx, "select recoup.fold_rollups($1)", foldBatch).Scan(&n)
		if err != nil || n < foldBatch {
			return failure("fold rollups", err)
		}
	}
}

// PurgeRollups deletes counts that are no longer needed.
func (s *Store) PurgeRollups(ctx context.Context, keep store.Retention, limit int) (n int, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.purge_rollups($1, $2, $3)", store.Hour(keep.Hourly), store.Day(keep.Daily), max(limit, 0)).Scan(&n)
	return n, failure("purge rollups", err)
}
