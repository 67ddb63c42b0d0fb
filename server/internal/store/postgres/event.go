package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// bulkChunk is how many events of a bulk load are added at once.
const bulkChunk = 20_000

// eventColumns are those of events on the wire.
var eventColumns = columns(store.Events.Columns)

// InsertEvents adds events and counts them, and returns how many were new.
//
// Most batches have nothing that is known already, so they are copied, which
// fails as a whole if one event is. Only then are they inserted with the look at
// every row that sorts duplicates out.
func (s *Store) InsertEvents(ctx context.Context, events []store.Event) (int, error) {
	months := byMonth(events)
	if len(months) == 0 {
		return 0, nil
	}
	return s.insertEvents(ctx, months, func(*tx, context.Context) (monthly, error) { return months, nil })
}

// choose says, in the transaction that adds them, which events of the months are added.
type choose func(t *tx, ctx context.Context) (monthly, error)

func (s *Store) insertEvents(ctx context.Context, months monthly, which choose) (int, error) {
	added, err := s.addEvents(ctx, months, which, (*tx).copyEvents)
	if failed(err, uniqueViolation, featureNotSupported) {
		return s.addEvents(ctx, months, which, (*tx).mergeEvents)
	}
	return added, err
}

// monthly is events by the beginning of their month.
type monthly map[time.Time][]store.Event

// byMonth divides events, each month in the order of its keys: batches that hold
// the same events must not wait for each other crosswise. What comes in that order, as
// most does, is not copied.
func byMonth(events []store.Event) monthly {
	months := monthly{}
	for len(events) > 0 {
		month := store.Month(events[0].TS)
		next, n := month.AddDate(0, 1, 0), 1
		for n < len(events) && !events[n].TS.Before(month) && events[n].TS.Before(next) {
			n++
		}
		if list, more := months[month], events[:n:n]; list == nil {
			months[month] = more
		} else {
			months[month] = append(list, more...)
		}
		events = events[n:]
	}
	for month, list := range months {
		if !inOrder(list) {
			months[month] = slices.SortedFunc(slices.Values(list), func(a, b store.Event) int { return compareKeys(&a, &b) })
		}
	}
	return months
}

func inOrder(events []store.Event) bool {
	for i := 1; i < len(events); i++ {
		if compareKeys(&events[i-1], &events[i]) > 0 {
			return false
		}
	}
	return true
}

func compareKeys(a, b *store.Event) int {
	return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), a.TS.Compare(b.TS))
}

// featureNotSupported is what COPY answers where row security is on.
const featureNotSupported = "0A000"

// failed reports whether a verb failed with one of the states.
func failed(err error, states ...string) bool {
	var f *Failure
	return errors.As(err, &f) && slices.Contains(states, f.State)
}

// addEvents adds events of the months in one transaction. Months that are
// not ready are made so.
func (s *Store) addEvents(ctx context.Context, months monthly, which choose, add adder) (added int, err error) {
	added, err = s.tryEvents(ctx, which, add)
	if !failed(err, undefinedTable, insufficientPrivilege) {
		return added, err
	}
	if err := s.ensureEventPartitions(ctx, slices.Collect(maps.Keys(months))); err != nil {
		return 0, err
	}
	return s.tryEvents(ctx, which, add)
}

// adder adds the events of one month and returns how many were new.
type adder func(t *tx, ctx context.Context, month time.Time, events []store.Event) (int, error)

func (s *Store) tryEvents(ctx context.Context, which choose, add adder) (added int, err error) {
	err = s.transact(ctx, "add events", time.Time{}, func(t *tx) error {
		added = 0
		if err := t.send(ctx); err != nil {
			return err
		}
		months, err := which(t, ctx)
		if err != nil {
			return err
		}
		fresh, err := t.rememberIDs(ctx, months)
		if err != nil {
			return err
		}
		for _, month := range slices.SortedFunc(maps.Keys(fresh), time.Time.Compare) {
			n, err := add(t, ctx, month, fresh[month])
			if err != nil {
				return err
			}
			added += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// copyEvents copies the events of a month into its partition. Through the parent,
// whose trigger collects new rows, PostgreSQL would insert them one at a time.
func (t *tx) copyEvents(ctx context.Context, month time.Time, events []store.Event) (int, error) {
	return t.copy(ctx, "recoup."+partitionName(eventTable, month), store.Events.Names(""), copyRows(eventColumns, events))
}

// mergeEvents adds those of the events that are new.
func (t *tx) mergeEvents(ctx context.Context, month time.Time, events []store.Event) (int, error) {
	b := newBatch(eventColumns, pointers(events))
	tag, err := t.conn.Exec(ctx, b.insert("recoup."+partitionName(eventTable, month))+" on conflict do nothing", b.args...)
	return int(tag.RowsAffected()), err
}

// BulkLoad adds the events of a span in large chunks. It needs no triggers
// disabled: they look at a chunk as a whole.
func (s *Store) BulkLoad(ctx context.Context, span store.Span, events iter.Seq[store.Event]) (added int, err error) {
	for chunk, err := range store.Chunks(span, events, bulkChunk) {
		if err != nil {
			return added, fmt.Errorf("load events: %w", err)
		}
		n, err := s.InsertEvents(ctx, chunk)
		added += n
		if err != nil {
			return added, err
		}
	}
	_, err = s.pool.Exec(ctx, "select recoup.settle_events($1)", monthsBetween(span.From, span.To))
	return added, failure("settle events", err)
}
