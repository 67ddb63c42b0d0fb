package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// tally adds up the events of a batch by hour, service and code.
type tally map[group]*sum

type group struct {
	hour    int64
	service string
	code    recoup.Code
}

// sum is how many events there are, how many of them say that they are worth
// trying again, how many say nothing, and when the last happened.
type sum struct{ n, yes, unsaid, last int64 }

const (
	microsPerHour = int64(time.Hour / time.Microsecond)
	microsPerDay  = 24 * microsPerHour
)

func (t tally) count(e *store.Event) {
	ts := micros(e.TS)
	key := group{ts - ts%microsPerHour, e.Service, e.Code}
	s := t[key]
	if s == nil {
		s = &sum{}
		t[key] = s
	}
	s.n++
	s.last = max(s.last, ts)
	switch yes, said := e.Retryable(); {
	case !said:
		s.unsaid++
	case yes:
		s.yes++
	}
}

const (
	countHour = `insert into error_aggregate_hourly (hour, service, code, count, retryable_count, last_seen_at)
		select ?, ?, code, ?, ? + ? * retryable, ? from error_code where code = ?` + onKnown
	countDay = `insert into error_aggregate_daily (day, service, code, count, retryable_count, last_seen_at)
		select ?, ?, code, ?, ? + ? * retryable, ? from error_code where code = ?` + onKnown
	onKnown = ` on conflict do update set count = count + excluded.count,
		retryable_count = retryable_count + excluded.retryable_count, last_seen_at = max(last_seen_at, excluded.last_seen_at)`
)

// addCounts adds what a batch has added.
func (t *tx) addCounts(sums tally) error {
	for g, s := range sums {
		rest := []any{g.service, s.n, s.yes, s.unsaid, s.last, string(g.code)}
		if err := t.exec(countHour, append([]any{g.hour}, rest...)...); err != nil {
			return err
		}
		if err := t.exec(countDay, append([]any{g.hour - g.hour%microsPerDay}, rest...)...); err != nil {
			return err
		}
	}
	return nil
}

// CountDrops notes what was left out of the ledger.
func (s *Store) CountDrops(ctx context.Context, drops []store.Drop) error {
	return s.writer.do(ctx, func(tx *tx) error {
		for _, d := range drops {
			err := tx.exec(`insert into event_drop (day, reason, n) values (?, ?, ?) on conflict do update set n = n + excluded.n`,
				micros(store.Day(d.Day)), d.Reason, d.N)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// FoldRollups has nothing to fold: events are counted in place.
func (s *Store) FoldRollups(ctx context.Context) error { return ctx.Err() }

// PurgeRollups deletes counts that are no longer needed.
func (s *Store) PurgeRollups(ctx context.Context, keep store.Retention, limit int) (total int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		total = 0
		for _, purge := range []struct {
			text  string
			until time.Time
		}{
			{purgeHours, store.Hour(keep.Hourly)}, {purgeDays, store.Day(keep.Daily)}, {purgeDrops, store.Day(keep.Daily)},
		} {
			n, err := tx.change(purge.text, micros(purge.until), max(limit, 0))
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

const (
	purgeHours = `delete from error_aggregate_hourly where (hour, service, code) in
		(select hour, service, code from error_aggregate_hourly where hour < ? order by hour limit 0 + ?)`
	purgeDays = `delete from error_aggregate_daily where (day, service, code) in
		(select day, service, code from error_aggregate_daily where day < ? order by day limit 0 + ?)`
	purgeDrops = `delete from event_drop where (day, reason) in
		(select day, reason from event_drop where day < ? order by day limit 0 + ?)`
)
