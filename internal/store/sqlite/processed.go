package sqlite

import (
	"context"
	"time"

	"recoup/internal/store"
)

const (
	addMinute = `insert into processed_minute (minute, table_name, service, n, failed, duration_us, failed_us) values (?, ?, ?, ?, ?, ?, ?)` + addUp
	addHour   = `insert into processed_hour (hour, table_name, service, n, failed, duration_us, failed_us) values (?, ?, ?, ?, ?, ?, ?)` + addUp
	addUp     = ` on conflict do update set n = n + excluded.n, failed = failed + excluded.failed, duration_us = duration_us + excluded.duration_us,
		failed_us = failed_us + excluded.failed_us`

	selectProcessed = `select table_name, service, sum(n), sum(failed), sum(duration_us), sum(failed_us) from (
			select table_name, service, n, failed, duration_us, failed_us from processed_hour where hour >= ?1 and hour < ?2
			union all
			select table_name, service, n, failed, duration_us, failed_us from processed_minute where minute >= ?3 and minute < ?4
			union all
			select table_name, service, n, failed, duration_us, failed_us from processed_minute where minute >= ?5 and minute < ?6)
		where (?7 = '' or table_name = ?7) and (?8 = '' or service = ?8) group by 1, 2 order by 1, 2`

	purgeMinutes = `delete from processed_minute where (minute, table_name, service) in
		(select minute, table_name, service from processed_minute where minute < ? order by minute limit 0 + ?)`
	purgeProcessedHours = `delete from processed_hour where (hour, table_name, service) in
		(select hour, table_name, service from processed_hour where hour < ? order by hour limit 0 + ?)`
)

// AddProcessed adds to the counts.
func (s *Store) AddProcessed(ctx context.Context, counts []store.Processed) error {
	if len(counts) == 0 {
		return nil
	}
	return s.writer.do(ctx, func(tx *tx) error {
		for _, c := range counts {
			rest := []any{c.Table, c.Service, c.N, c.Failed, c.Duration.Microseconds(), c.FailedDuration.Microseconds()}
			if err := tx.exec(addMinute, append([]any{micros(store.Minute(c.Minute))}, rest...)...); err != nil {
				return err
			}
			if err := tx.exec(addHour, append([]any{micros(store.Hour(c.Minute))}, rest...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Processed sums up the minutes of a span. Whole hours are summed up already.
func (s *Store) Processed(ctx context.Context, span store.Span, f store.ProcessedFilter) ([]store.Processed, error) {
	head, whole, tail := span.Minutes().Hours()
	return query(ctx, s, func(p *store.Processed) []any {
		return []any{&p.Table, &p.Service, &p.N, &p.Failed, elapsed{&p.Duration}, elapsed{&p.FailedDuration}}
	}, selectProcessed, micros(whole.From), micros(whole.To), micros(head.From), micros(head.To), micros(tail.From), micros(tail.To),
		f.Table, f.Service)
}

// PurgeProcessed deletes at most limit counts of minutes and as many of hours
// that are over at a time.
func (s *Store) PurgeProcessed(ctx context.Context, before time.Time, limit int) (total int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		total = 0
		for _, text := range []string{purgeMinutes, purgeProcessedHours} {
			n, err := tx.change(text, micros(store.Hour(before)), max(limit, 0))
			if err != nil {
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
