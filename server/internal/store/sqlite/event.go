package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// eventChunk is how many events one statement adds: by then what a statement
	// costs in the driver is shared well enough.
	eventChunk = 32

	// bulkChunk is how many events of a bulk load are added in one transaction.
	bulkChunk = 5000
)

// insertEvents returns the statement that adds n events.
func insertEvents(n int) string {
	row := "(?" + strings.Repeat(", ?", len(store.Events.Columns)-1) + ")"
	return "insert into error_event (" + store.Events.Names("") + ") values " + row + strings.Repeat(", "+row, n-1)
}

var (
	insertChunk = insertEvents(eventChunk)
	insertEvent = insertEvents(1) + " on conflict do nothing"
)

// InsertEvents adds events and counts them, and returns how many were new.
func (s *Store) InsertEvents(ctx context.Context, events []store.Event) (added int, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	err = s.writer.do(ctx, func(tx *tx) error {
		fresh, err := tx.rememberIDs(events)
		if err != nil {
			return err
		}
		added, err = tx.addEvents(fresh)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// rememberIDs remembers the ids that carry no time, and leaves out the events whose
// id has come before: whenever that was dated, they are the same.
func (t *tx) rememberIDs(events []store.Event) (fresh []store.Event, err error) {
	if !slices.ContainsFunc(events, func(e store.Event) bool { return e.Timeless }) {
		return events, nil
	}
	for i := range events {
		if events[i].Timeless {
			n, err := t.change(`insert into event_known (event_id) values (?) on conflict do nothing`, id{&events[i].ID})
			if err != nil {
				return nil, err
			}
			if n == 0 {
				if err := t.requireRow(eventKnown, "event_known", id{&events[i].ID}); err != nil {
					return nil, err
				}
				continue
			}
		}
		fresh = append(fresh, events[i])
	}
	return fresh, nil
}

// saveEvents adds the events of a unit of work.
func (t *tx) saveEvents(events []store.Event) error {
	if len(events) == 0 {
		return nil
	}
	_, err := t.addEvents(events)
	return err
}

// addEvents adds a batch. While it is open the triggers leave checking codes and
// counting to it.
func (t *tx) addEvents(events []store.Event) (added int, err error) {
	if err := t.checkCodes(events); err != nil {
		return 0, err
	}
	if err := t.exec(`update event_batch set open = 1`); err != nil {
		return 0, err
	}
	sums := tally{}
	for len(events) > 0 {
		n, err := t.addChunk(events[:min(eventChunk, len(events))], sums)
		if err != nil {
			return 0, err
		}
		added += n
		events = events[min(eventChunk, len(events)):]
	}
	if err := t.addCounts(sums); err != nil {
		return 0, err
	}
	return added, t.exec(`update event_batch set open = 0`)
}

// addChunk adds a few events with one statement. Where it meets one that is known
// already, it has done nothing, and they are added one by one.
func (t *tx) addChunk(events []store.Event, sums tally) (added int, err error) {
	if len(events) == eventChunk {
		switch err := t.addTogether(events, sums); {
		case err == nil:
			return len(events), nil
		case !known(err):
			return 0, err
		}
	}
	for i := range events {
		n, err := t.addEvent(&events[i], sums)
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, nil
}

// addTogether adds a full chunk with one statement, or nothing.
func (t *tx) addTogether(events []store.Event, sums tally) error {
	args := make([]any, 0, eventChunk*len(store.Events.Columns))
	for i := range events {
		list, err := values(store.Events.Columns, &events[i])
		if err != nil {
			return err
		}
		args = append(args, list...)
	}
	n, err := t.change(insertChunk, args...)
	if err != nil {
		return err
	}
	if n != len(events) {
		return discarded("error_event", len(events)-n)
	}
	for i := range events {
		sums.count(&events[i])
	}
	return nil
}

// addEvent adds an event that may be known, and returns how many were added.
func (t *tx) addEvent(e *store.Event, sums tally) (added int, err error) {
	args, err := values(store.Events.Columns, e)
	if err != nil {
		return 0, err
	}
	added, err = t.change(insertEvent, args...)
	switch {
	case err != nil:
		return 0, err
	case added == 0:
		return 0, t.requireRow(eventStored, "error_event", stamp{&e.TS}, id{&e.ID})
	}
	sums.count(e)
	return added, nil
}

// The questions whether a row that was not added is there already.
const (
	eventKnown  = `select exists (select 1 from event_known where event_id = ?)`
	eventStored = `select exists (select 1 from error_event where ts = ? and event_id = ?)`
)

// requireRow returns an error if a row that was not added to a table is not there already.
func (t *tx) requireRow(question, table string, key ...any) error {
	var there bool
	if err := t.row(question, key...).Scan(&there); err != nil || there {
		return err
	}
	return discarded(table, 1)
}

// discarded is the failure of a statement that added fewer rows than it was given.
func discarded(table string, rows int) error {
	return fmt.Errorf("sqlite: %d rows were not added to %s: a trigger that is not part of Recoup discards them; find it with 'recoup doctor'", rows, table)
}

// known reports whether a statement failed because a row was there already.
func known(err error) bool {
	var fault *sqlite.Error
	return errors.As(err, &fault) && fault.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// checkCodes refuses events whose code is not registered.
func (t *tx) checkCodes(events []store.Event) error {
	seen := map[recoup.Code]bool{}
	for _, e := range events {
		if seen[e.Code] {
			continue
		}
		var registered bool
		if err := t.row(`select exists (select 1 from error_code where code = ?)`, string(e.Code)).Scan(&registered); err != nil {
			return err
		}
		if !registered {
			return fmt.Errorf("%w: the code %s is not registered", store.ErrRefused, e.Code)
		}
		seen[e.Code] = true
	}
	return nil
}

// BulkLoad adds the events of a span in large chunks. Nothing must be renewed
// after it: no plan here depends on what is in the file.
func (s *Store) BulkLoad(ctx context.Context, span store.Span, events iter.Seq[store.Event]) (added int, err error) {
	for chunk, err := range store.Chunks(span, events, bulkChunk) {
		if err != nil {
			return added, err
		}
		n, err := s.InsertEvents(ctx, chunk)
		added += n
		if err != nil {
			return added, err
		}
	}
	return added, nil
}

// EnsureEventPartitions has nothing to make ready: the file has no partitions.
func (s *Store) EnsureEventPartitions(ctx context.Context, _ time.Time, _ time.Duration) error {
	return ctx.Err()
}

const dropEvents = `delete from error_event where (ts, event_id) in
	(select ts, event_id from error_event where ts < ? order by ts limit 0 + ?)`

// DropEvents deletes the events of all months that are over at a time, a batch
// at a time, so that others need not wait long for their turn.
func (s *Store) DropEvents(ctx context.Context, before time.Time) error {
	end, err := s.filedUntil(ctx, store.Month(before))
	if err != nil {
		return err
	}
	until := micros(end)
	for n := purgeBatch; n == purgeBatch; {
		err := s.writer.do(ctx, func(tx *tx) error {
			err := tx.exec(`update retention set events_until = ?`, until)
			if err != nil {
				return err
			}
			if n, err = tx.change(dropEvents, until, purgeBatch); err != nil {
				return err
			}
			return tx.exec(`update retention set events_until = null`)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unfiledDay finds the first day on which more happened than its file has. Of one that is
// deleted in part there is less, so that a month which was begun is ended.
const unfiledDay = `select min(day) from (select day, count(*) as n from error_event where ts < ? group by day) d
	where n > coalesce((select events from event_file f where f.day = d.day), 0)`

// filedUntil is a time, or the beginning of the month before it in which an event is in no
// file, while events are filed.
func (s *Store) filedUntil(ctx context.Context, end time.Time) (time.Time, error) {
	filing, err := s.EventFiling(ctx)
	if err != nil || filing == nil {
		return end, err
	}
	var day sql.NullInt64
	if err := s.read.QueryRowContext(ctx, unfiledDay, micros(end)).Scan(&day); err != nil || !day.Valid {
		return end, translate(err)
	}
	return store.Month(time.UnixMicro(day.Int64)), nil
}

// EventDays returns the days since the first event.
func (s *Store) EventDays(ctx context.Context, before time.Time) ([]store.EventDay, error) {
	var first sql.NullInt64
	if err := s.read.QueryRowContext(ctx, `select min(ts) from error_event`).Scan(&first); err != nil || !first.Valid {
		return nil, translate(err)
	}
	return s.EventDaysSince(ctx, time.UnixMicro(first.Int64).UTC(), before)
}
