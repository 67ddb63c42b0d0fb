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
func (s *Store) write(t *tx, w *store.Work, locked []recoup.Error, now time.Time) {
	moved, direct := w.Archives()
	if len(moved) > 0 {
		s.move(t, moved)
	}
	if len(direct) > 0 {
		insert(t, "recoup.error_archive", s.sql.archive, direct)
	}
	if updates := w.Updates(); len(updates) > 0 {
		s.update(t, locked, updates)
	}
	if inserts := w.Inserts(); len(inserts) > 0 {
		slices.SortStableFunc(inserts, byKey)
		insert(t, "recoup.error", s.sql.errors, inserts)
	}
	if len(w.History) > 0 {
		insert(t, "recoup.error_history", s.sql.history, w.History)
	}
	if len(w.Notices) > 0 {
		insert(t, "recoup.outbox", noticeColumns(now), w.Notices)
	}
	writeStreaks(t, w.Streaks())
}

func insert[R any](t *tx, table string, columns []column[R], records []R) {
	b := newBatch(columns, pointers(records))
	t.queue(b.insert(table), b.args...)
}

// byKey is the order in which new errors are inserted: two batches that hold
// the same keys must not wait for each other crosswise.
func byKey(a, b recoup.Error) int {
	x, y := a.Identity(), b.Identity()
	return cmp.Or(strings.Compare(x.Table, y.Table), strings.Compare(x.Entity, y.Entity), strings.Compare(string(x.Code), string(y.Code)))
}

// move queues the way of errors to the archive: one statement, so that the
// guards of both tables see each error in exactly one of them.
func (s *Store) move(t *tx, errors []recoup.Error) {
	list := pointers(errors)
	b := newBatch(s.sql.archive, list)
	gone := "with gone as (delete from recoup.error where error_id = any (" + b.add(s.sql.archive[0].all(list)) + "::uuid[])) "
	t.queue(gone+b.insert("recoup.error_archive"), b.args...)
}

// update queues new versions of stored errors. It sends only the columns that
// differ from what is stored in at least one of them: a claim changes seven of
// forty-four.
func (s *Store) update(t *tx, locked, updates []recoup.Error) {
	stored := make(map[recoup.ID]*recoup.Error, len(locked))
	for i := range locked {
		stored[locked[i].ID] = &locked[i]
	}
	before, after := make([]*recoup.Error, len(updates)), pointers(updates)
	for i, e := range after {
		before[i] = stored[e.ID]
	}
	changed := s.sql.errors[:1:1]
	for _, c := range s.sql.errors[1:] {
		if !slices.EqualFunc(before, after, c.same) {
			changed = append(changed, c)
		}
	}
	if len(changed) > 1 {
		b := newBatch(changed, after)
		t.queue(b.update("recoup.error"), b.args...)
	}
}
