package postgres

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
)

// write queues everything that a unit of work has decided. Each kind of row is
// one statement, however many rows there are.
func (s *Store) write(t *tx, w *store.Work) {
	moved, direct := w.Archives()
	if len(moved) > 0 {
		s.move(t, w, moved)
	}
	if updates := w.Updates(); len(updates) > 0 {
		s.update(t, w, updates)
	}
	if inserts := w.Inserts(); len(inserts) > 0 {
		slices.SortStableFunc(inserts, byKey)
		insertAll(t, "recoup.error", s.sql.errors, inserts)
	}
	if len(direct) > 0 { // after what has replaced them
		insertAll(t, "recoup.error_archive", s.sql.archive, direct)
	}
	if len(w.History) > 0 {
		insert(t, "recoup.error_history", s.sql.history, w.History)
	}
	writeEvents(t, w.Events)
	noteShelved(t, w.Shelved())
	if len(w.Notices) > 0 {
		insert(t, "recoup.outbox", noticeColumns(t.now), w.Notices)
		t.wake(store.WakeNotices)
	}
	writeStreaks(t, w.Streaks())
	writeActivity(t, w, t.now)
	writeReceipts(t, &w.Receipts)
	if w.Awaken(t.now) {
		t.wake(store.WakeErrors)
	}
}

// noteShelved queues the notes of dead letters that people have archived.
func noteShelved(t *tx, list []recoup.Transition) {
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
		join recoup.dead_letter d using (error_id)`, raw(ids), at, actors, reasons, string(store.NoteArchived))
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

// move queues the way of errors to the archive: one statement, so that the
// guards of both tables see each error in exactly one of them. It sends what has
// changed and what archiving adds; the rest comes along from the row itself.
func (s *Store) move(t *tx, w *store.Work, after []*recoup.Error) {
	columns := append(changed(s.sql.errors, w, after), s.sql.archive[len(s.sql.errors):]...)
	b := newBatch(columns, after)
	t.queue(b.move("recoup.error", "recoup.error_archive", s.sql.archive), b.args...)
}

// update queues new versions of stored errors.
func (s *Store) update(t *tx, w *store.Work, after []*recoup.Error) {
	if columns := changed(s.sql.errors, w, after); len(columns) > 1 {
		b := newBatch(columns, after)
		t.queue(b.update("recoup.error"), b.args...)
	}
}

// changed returns the key and the columns in which at least one error differs
// from what is stored: a claim changes seven of forty-four.
func changed(columns []column[recoup.Error], w *store.Work, after []*recoup.Error) []column[recoup.Error] {
	before := make([]*recoup.Error, len(after))
	for i, e := range after {
		before[i] = w.Was(e.ID)
	}
	list := columns[:1:1]
	for _, c := range columns[1:] {
		if !slices.EqualFunc(before, after, c.same) {
			list = append(list, c)
		}
	}
	return list
}
