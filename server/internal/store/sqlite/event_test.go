package sqlite_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	conformance.RunLedger(t, func(t *testing.T) conformance.Ledger { return open(t) })
}

const plainEvent = `insert into error_event (event_id, code, correlation_id, service, ts, details) values `

// forbiddenEvents are acts that nobody may do to events. The rest of the file is
// that of TestForbidden.
var forbiddenEvents = []string{
	`update error_event set service = 'mallory'`,
	`update error_event set ts = ts + 1`,
	`update or replace error_event set event_id = zeroblob(16), ts = 0`,
	`delete from error_event`,
	`delete from error_event where service = 'billing'`,
	`insert or replace into error_event (event_id, code, correlation_id, service, ts)
		select event_id, code, correlation_id, 'mallory', ts from error_event`,
	`insert into error_event (event_id, code, correlation_id, service, ts)
		select event_id, code, correlation_id, 'mallory', ts from error_event where true on conflict do update set service = 'mallory'`,
	`insert into error_event (event_id, code, correlation_id, service, ts)
		select event_id, code, correlation_id, service, ts from error_event`,
	plainEvent + `(randomblob(16), 'NOBODY_KNOWS', randomblob(16), 's', 0, null)`,
	plainEvent + `(randomblob(16), null, randomblob(16), 's', 0, null)`,
	plainEvent + `(randomblob(15), 'NETWORK_TIMEOUT', randomblob(16), 's', 0, null)`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), '', 0, null)`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 's', -1, null)`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 's', 'now', null)`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 's', 0, '{"authorization": "Bearer x"}')`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 's', 0, '["retryable"]')`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 's', 0, '{"retryable": "yes"}')`,
	plainEvent + `(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 's', 0, '{')`,
}

// What is forbidden is refused to somebody else's connection, which has SQLite's
// defaults, and changes nothing.
func TestForbiddenEvents(t *testing.T) {
	t.Parallel()
	s := open(t)
	b := conformance.NewBookkeeper(t, s)
	b.Add(b.Event("billing", "NETWORK_TIMEOUT", conformance.Epoch()), b.Event("search", "VALIDATION_ERROR", conformance.Epoch()))
	raw, today := s.raw(), store.Day(conformance.Epoch())
	for _, act := range forbiddenEvents {
		if _, err := raw.Exec(act); err == nil {
			t.Errorf("allowed: %s", act)
		}
		b.Check(store.Span{From: today, To: today.Add(24 * time.Hour)})
	}
}

// Events that plain SQL adds are counted by the triggers as the store counts its
// own: the same events, added to another file through the store, leave the same
// counts.
func TestPlainSQLIsCounted(t *testing.T) {
	t.Parallel()
	theirs, ours := open(t), open(t)
	b := conformance.NewBookkeeper(t, ours)
	conformance.NewBookkeeper(t, theirs)
	for _, insert := range []string{
		plainEvent + `
			(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 'billing', 1770000000000000, null),
			(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 'billing', 1770000000000001, '{"retryable": false}'),
			(randomblob(16), 'VALIDATION_ERROR', randomblob(16), 'billing', 1770000000000001, '{"retryable": true}'),
			(randomblob(16), 'VALIDATION_ERROR', randomblob(16), 'billing', 1769990399999999, null)`,
		`insert or replace into error_event (event_id, code, correlation_id, service, ts, details) values
			(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 'search', 1769990400000000, '{"limit": 3}'),
			(randomblob(16), 'NETWORK_TIMEOUT', randomblob(16), 'search', 1769990400000001, '{"limit": 3}')`,
	} {
		if _, err := theirs.raw().Exec(insert); err != nil {
			t.Fatal(err)
		}
	}
	events, _, err := theirs.Events(t.Context(), store.EventFilter{}, sqldb.Page{})
	if err != nil || len(events) != 6 {
		t.Fatal(len(events), err)
	}
	b.Add(events...)
	b.Ledger = theirs
	first := store.Day(events[5].TS)
	b.Check(store.Span{From: first, To: first.Add(48 * time.Hour)})
}

// Events that a trigger of another program discards are not acknowledged, alone or in a batch, while
// events that are stored already are.
func TestDiscardedEvents(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"error_event", "event_known"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			b := conformance.NewBookkeeper(t, s)
			var batch []store.Event
			for range 40 { // a whole chunk, and single ones
				e := b.Event("billing", "NETWORK_TIMEOUT", conformance.Epoch())
				e.Timeless = table == "event_known"
				batch = append(batch, e)
			}
			first := batch[:1]
			if n, err := s.InsertEvents(t.Context(), first); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if _, err := s.raw().Exec(`create trigger evil before insert on ` + table + ` begin select raise(ignore); end`); err != nil {
				t.Fatal(err)
			}
			for _, lost := range [][]store.Event{batch[1:2], batch[1:33], batch[1:]} {
				if n, err := s.InsertEvents(t.Context(), lost); err == nil {
					t.Errorf("%d events are acknowledged, %d of them as new", len(lost), n)
				}
			}
			if n, err := s.InsertEvents(t.Context(), first); n != 0 || err != nil {
				t.Errorf("an event that is stored already: %d, %v", n, err)
			}
		})
	}
}
