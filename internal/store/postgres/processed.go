package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// addProcessed adds to the counts of minutes, or of hours. Rows are added to in
// the order of their keys, so that nodes do not wait for each other crosswise.
func addProcessed(table, time string) string {
	return `insert into recoup.` + table + ` as p (` + time + `, table_name, service, n, failed, duration_us, failed_us)
		select t, tab, service, sum(n)::int8, sum(failed)::int8, sum(us)::int8, sum(fus)::int8
		from unnest($1::timestamptz[], $2::text[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int8[]) as u (t, tab, service, n, failed, us, fus)
		group by 1, 2, 3 order by 1, 2, 3
		on conflict (` + time + `, table_name, service) do update set
			n = p.n + excluded.n, failed = p.failed + excluded.failed, duration_us = p.duration_us + excluded.duration_us,
			failed_us = p.failed_us + excluded.failed_us`
}

// AddProcessed adds to the counts.
func (s *Store) AddProcessed(ctx context.Context, counts []store.Processed) error {
	if len(counts) == 0 {
		return nil
	}
	var minutes, hours []time.Time
	var tables, services []string
	var n, failed, durations, wasted []int64
	for _, c := range counts {
		minutes, hours = append(minutes, store.Minute(c.Minute)), append(hours, store.Hour(c.Minute))
		tables, services = append(tables, c.Table), append(services, c.Service)
		n, failed, durations = append(n, c.N), append(failed, c.Failed), append(durations, c.Duration.Microseconds())
		wasted = append(wasted, c.FailedDuration.Microseconds())
	}
	return s.transact(ctx, "count what was processed", time.Time{}, func(t *tx) error {
		t.queue(addProcessed("processed_minute", "minute"), minutes, tables, services, n, failed, durations, wasted)
		t.queue(addProcessed("processed_hour", "hour"), hours, tables, services, n, failed, durations, wasted)
		return nil
	})
}

// Processed sums up the minutes of a span. Whole hours are summed up already.
func (s *Store) Processed(ctx context.Context, span store.Span, f store.ProcessedFilter) ([]store.Processed, error) {
	head, whole, tail := span.Minutes().Hours()
	rows, err := s.within(ctx, `
		select table_name, service, sum(n)::int8, sum(failed)::int8, sum(duration_us)::int8, sum(failed_us)::int8 from (
			select table_name, service, n, failed, duration_us, failed_us from recoup.processed_hour where hour >= $1 and hour < $2
			union all
			select table_name, service, n, failed, duration_us, failed_us from recoup.processed_minute where minute >= $3 and minute < $4
			union all
			select table_name, service, n, failed, duration_us, failed_us from recoup.processed_minute where minute >= $5 and minute < $6) p
		where ($7 = '' or table_name = $7) and ($8 = '' or service = $8)
		group by 1, 2 order by 1, 2`,
		whole.From, whole.To, head.From, head.To, tail.From, tail.To, f.Table, f.Service)
	return collectRows("sum up what was processed", rows, err, func(row pgx.CollectableRow) (p store.Processed, err error) {
		var us, failed int64
		err = row.Scan(&p.Table, &p.Service, &p.N, &p.Failed, &us, &failed)
		p.Duration, p.FailedDuration = time.Duration(us)*time.Microsecond, time.Duration(failed)*time.Microsecond
		return p, err
	})
}

// PurgeProcessed deletes at most limit counts of minutes and as many of hours
// that are over at a time.
func (s *Store) PurgeProcessed(ctx context.Context, before time.Time, limit int) (total int, err error) {
	err = s.transact(ctx, "purge what was processed", time.Time{}, func(t *tx) error {
		total = 0
		for _, sql := range []string{
			`delete from recoup.processed_minute where ctid = any (array(select ctid from recoup.processed_minute
				where minute < $1 order by minute limit $2 for update skip locked))`,
			`delete from recoup.processed_hour where ctid = any (array(select ctid from recoup.processed_hour
				where hour < $1 order by hour limit $2 for update skip locked))`,
		} {
			n := 0
			t.queue(sql, store.Hour(before), max(limit, 0)).Exec(addTo(&n))
			if err := t.send(ctx); err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}
