package postgres

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// writeErrors queues the errors that a unit of work has decided, and their history. Each kind of
// row is one statement, however many rows there are.
func (s *Store) writeErrors(t *tx, w *store.UnitOfWork) {
	if len(w.History) > 0 { // before what must not be without it
		insert(t, "recoup.transition", s.sql.history, w.History)
	}
	updates, inserts := w.Updates(), w.Inserts()
	s.writeDue(t, w, slices.Concat(w.Ended(), updates, inserts))
	s.writeEnds(t, w)
	if len(updates) > 0 {
		s.update(t, w, updates)
	}
	if len(inserts) > 0 {
		slices.SortStableFunc(inserts, byKey)
		insertAll(t, "recoup.error", s.sql.stored, inserts)
	}
}

// writeEffects queues what follows from decisions about errors.
func writeEffects(t *tx, w *store.UnitOfWork) {
	writeEvents(t, w.Events)
	if notices := w.Notices(); len(notices) > 0 {
		addNotices(t, t.now, notices)
	}
	writeStreaks(t, w.Streaks())
	writeActivity(t, w, t.now)
	writeReceipts(t, &w.Receipts)
	if w.Awaken(t.now) {
		t.wake(store.WakeErrors)
	}
}

// noteArchived queues the notes of dead letters that people have archived.
func noteArchived(t *tx, list []recoup.Transition) {
	if len(list) == 0 {
		return
	}
	ids, at := make([]recoup.ID, len(list)), make([]time.Time, len(list))
	actors, reasons := make([]string, len(list)), make([]string, len(list))
	for i, h := range list {
		ids[i], at[i], actors[i], reasons[i] = h.ErrorID, h.At, h.Actor, h.Reason
	}
	t.queue(`insert into recoup.dead_letter_note (error_id, round, step, actor, at, note)
		select d.error_id, d.round, $5, h.actor, h.at, nullif(h.reason, '')
		from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) h (error_id, at, actor, reason)
		join recoup.dead_letter d using (error_id)`, raw(ids), at, actors, reasons, string(recoup.NoteArchived))
}

func insert[R any](t *tx, table string, columns []column[R], records []R) {
	insertAll(t, table, columns, pointers(records))
}

func insertAll[R any](t *tx, table string, columns []column[R], records []*R) {
	b := newBatch(columns, records)
	t.queue(b.insert(table), b.args...)
}

// byKey is the order in which new errors are inserted: two batches that hold
// the same keys must not wait for each other crosswise.
func byKey(a, b *recoup.Error) int {
	x, y := a.Identity(), b.Identity()
	return cmp.Or(strings.Compare(x.Table, y.Table), strings.Compare(x.Entity, y.Entity), strings.Compare(string(x.Code), string(y.Code)))
}

// update queues new versions of stored errors. A claim changes nothing of them, and
// the result of a retry no column that is in an index.
func (s *Store) update(t *tx, w *store.UnitOfWork, after []*recoup.Error) {
	columns := changed(s.sql.stored, w, after, func(c string, was, is *recoup.Error) verdict {
		switch {
		case ofLease(c) && !is.LeaseToken.IsZero(), c == "updated_at" && !is.LeaseToken.IsZero() && is.UpdatedAt.Equal(is.LeasedAt):
			return kept // it is in recoup.due
		case (ofLease(c) || c == "updated_at") && !was.LeaseToken.IsZero():
			return written
		case ofResolved(c) && is.State == recoup.Resolved && was.State == recoup.RetryPending:
			return kept
		}
		return compared
	})
	if len(columns) > 1 {
		b := newBatch(columns, after)
		t.queue(b.update("recoup.error"), b.args...)
	}
}

// ofLease reports whether a column says something else while a lease is held: see
// [current].
func ofLease(column string) bool { return column == "next_retry_at" || column == "last_retry_at" }

// ofResolved reports whether a column outlasts the resolution of its error.
func ofResolved(column string) bool { return column == "replaceable" || column == "next_reminder_at" }

// verdict says whether a column of an error is to be written.
type verdict int

const (
	compared verdict = iota // if it differs from what was read
	written                 // what is stored may be something else than what was read
	kept                    // what is stored stays
)

// changed returns the key and the columns that at least one of the errors needs to
// have written.
func changed(columns []column[recoup.Error], w *store.UnitOfWork, after []*recoup.Error, of func(string, *recoup.Error, *recoup.Error) verdict) []column[recoup.Error] {
	list := columns[:1:1]
	for _, c := range columns[1:] {
		if slices.ContainsFunc(after, func(e *recoup.Error) bool {
			was := w.Was(e.ID)
			v := of(c.name, was, e)
			return v == written || v == compared && !c.same(was, e)
		}) {
			list = append(list, c)
		}
	}
	return list
}
