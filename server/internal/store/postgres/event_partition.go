package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const eventTable = "error_event"

// monthsAhead is how many months after this one have their partition already, and
// monthsBehind how many before it at most: an event of an older month makes its own.
const (
	monthsAhead  = 3
	monthsBehind = 24
)

// EnsureEventPartitions makes the partitions of events from retention ago, or from two
// years ago if that is later, until three months ahead, and gives partitions that an administrator
// made by hand their guards.
func (s *Store) EnsureEventPartitions(ctx context.Context, now time.Time, retention time.Duration) error {
	first := now.Add(-retention)
	if oldest := store.Month(now).AddDate(0, -monthsBehind, 0); first.Before(oldest) {
		first = oldest
	}
	return s.ensureEventPartitions(ctx, monthsBetween(first, store.Month(now).AddDate(0, monthsAhead+1, 0)))
}

func (s *Store) ensureEventPartitions(ctx context.Context, months []time.Time) error {
	_, err := s.pool.Exec(ctx, "select recoup.ensure_event_partitions($1)", months)
	return failure("make partitions", err)
}

// DropEvents drops the partitions that lie before a time as a whole, one by one. The
// database refuses months that are not over, and those of which an event is still to be
// filed.
func (s *Store) DropEvents(ctx context.Context, before time.Time) error {
	months, err := s.months(ctx, `
		select month from (select to_date(substring(relname from '^error_event_y(\d{4}m\d{2})$'), 'YYYY"m"MM') as month
			from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'recoup.error_event'::regclass) p
		where month < $1::date order by 1`, store.Month(before))
	if err != nil {
		return err
	}
	return dropMonths(ctx, eventTable, months, func(month time.Time) error { return s.dropEvents(ctx, month) })
}

func (s *Store) dropEvents(ctx context.Context, month time.Time) error {
	return s.transact(ctx, "drop events", time.Time{}, func(t *tx) error {
		t.queue(`select set_config('statement_timeout', '0', true)`) // while events are filed, a month is counted
		if err := t.send(ctx); err != nil {
			return err
		}
		t.queue("select recoup.drop_partition($1, $2)", eventTable, month)
		return nil
	})
}

// EventDays returns the days of the months that have a partition.
func (s *Store) EventDays(ctx context.Context, before time.Time) ([]store.EventDay, error) {
	var first *time.Time
	err := s.pool.QueryRow(ctx, `
		select min(to_date(right(relname, 8), '"y"YYYY"m"MM'))::timestamptz
		from pg_inherits join pg_class on pg_class.oid = inhrelid
		where inhparent = 'recoup.error_event'::regclass and relname ~ '^error_event_y\d{4}m\d{2}$'`).Scan(&first)
	if err != nil || first == nil {
		return nil, failure("list days of events", err)
	}
	return s.EventDaysSince(ctx, *first, before)
}

// partitionName is what recoup.create_partition calls the partition of a month.
func partitionName(parent string, month time.Time) string {
	return fmt.Sprintf("%s_y%04dm%02d", parent, month.Year(), month.Month())
}

// monthsBetween lists the months that a stretch of time touches.
func monthsBetween(from, to time.Time) (months []time.Time) {
	for m := store.Month(from); m.Before(to); m = m.AddDate(0, 1, 0) {
		months = append(months, m)
	}
	return months
}
