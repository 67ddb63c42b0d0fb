package postgres

import (
	"context"
	"time"
)

// EnsurePartitions makes the partitions of history for this month and the next,
// and drops those whose last day is older than the longest life of an error and
// its archive together: nobody's history goes before they do.
func (s *Store) EnsurePartitions(ctx context.Context, now time.Time) error {
	if err := s.createPartitions(ctx, now); err != nil {
		return failure("make partitions", err)
	}
	_, err := s.pool.Exec(ctx, `
		select recoup.drop_partition($1, month) from (
			select to_date(right(relname, 8), '"y"YYYY"m"MM') as month
			from pg_inherits join pg_class on pg_class.oid = inhrelid
			where inhparent = 'recoup.transition'::regclass) p
		where month + interval '1 month' <= $2::timestamptz at time zone 'UTC'
			- (select max(ttl) + max(retention) from recoup.error_table)`, historyTable, now)
	return failure("drop partitions", err)
}

func (s *Store) createPartitions(ctx context.Context, now time.Time) error {
	now = now.UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	_, err := s.pool.Exec(ctx, "select recoup.create_partition($1, m) from unnest($2::date[]) as m", historyTable,
		[]time.Time{first, first.AddDate(0, 1, 0)})
	return err
}
