package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// EnsurePartitions makes the partitions of history for this month and the next three,
// and drops those whose last day is older than the longest life of an error and
// its archive together, so that no error loses its history. If only dropping fails, the
// error is [store.ErrNotDropped].
func (s *Store) EnsurePartitions(ctx context.Context, now time.Time) error {
	if err := s.createPartitions(ctx, now); err != nil {
		return failure("make partitions", err)
	}
	months, err := s.months(ctx, `
		select month from (select to_date(substring(relname from '^transition_y(\d{4}m\d{2})$'), 'YYYY"m"MM') as month
			from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'recoup.transition'::regclass) p
		where month + interval '1 month' <= $1::timestamptz at time zone 'UTC' - (select max(ttl) + max(retention) from recoup.error_table)
		order by 1`, now)
	if err != nil {
		return err
	}
	return dropMonths(ctx, historyTable, months, func(month time.Time) error {
		_, err := s.pool.Exec(ctx, "select recoup.drop_partition($1, $2)", historyTable, month)
		return failure("drop a partition", err)
	})
}

// months reads the months of partitions.
func (s *Store) months(ctx context.Context, sql string, args ...any) ([]time.Time, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, failure("list partitions", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	return list, failure("list partitions", err)
}

const (
	// patientDrops is how many partitions in a row may be locked before the rest is left for
	// the next time: the table that they belong to is locked then, and each costs a wait.
	patientDrops = 2

	// dropTries is how often a drop is tried that finds a lock, and dropPause the time between:
	// each waits for a moment only (recoup.drop_partition), because reports wait behind it.
	dropTries = 5
	dropPause = 200 * time.Millisecond
)

// dropMonths drops the partitions of months one by one. One that cannot be dropped keeps
// none of the others.
func dropMonths(ctx context.Context, table string, months []time.Time, drop func(month time.Time) error) error {
	var failed []error
	locked := 0
	for _, month := range months {
		err := drop(month)
		for try := 1; try < dropTries && errors.Is(err, store.ErrBusy) && pause(ctx, dropPause); try++ {
			err = drop(month)
		}
		if errors.Is(err, store.ErrBusy) {
			locked++
		} else {
			locked = 0
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("recoup.%s: %w", partitionName(table, month), err))
		}
		if locked == patientDrops {
			break
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrNotDropped, errors.Join(failed...))
}

// pause waits, and reports whether there is time left.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (s *Store) createPartitions(ctx context.Context, now time.Time) error {
	now = now.UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	_, err := s.pool.Exec(ctx, "select recoup.create_partition($1, m) from unnest($2::date[]) as m", historyTable,
		monthsBetween(first, first.AddDate(0, monthsAhead+1, 0)))
	return err
}
