package postgres

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// queued reports whether an error has a row in recoup.due.
func queued(e *recoup.Error) bool {
	return e != nil && e.State == recoup.RetryPending && !e.NextRetryAt.IsZero()
}

// writeDue queues what becomes of the places of errors in the queue: new ones,
// leases that begin or are extended, leases that end, and what waits no more.
func (s *Store) writeDue(t *tx, w *store.UnitOfWork, after []*recoup.Error) {
	var added, leased, changed, gone []*recoup.Error
	for _, e := range after {
		switch was, is := w.Was(e.ID), e; {
		case !queued(was) && queued(is):
			added = append(added, e)
		case queued(was) && !queued(is):
			gone = append(gone, e)
		case !queued(is):
		case !is.LeaseToken.IsZero():
			leased = append(leased, e)
		case was.Lease != is.Lease || !was.NextRetryAt.Equal(is.NextRetryAt) || !was.WindowEndsAt.Equal(is.WindowEndsAt) ||
			!was.ExpiresAt.Equal(is.ExpiresAt) || was.PolicyVersion != is.PolicyVersion:
			changed = append(changed, e)
		}
	}
	if len(gone) > 0 {
		t.queue("delete from recoup.due where error_id = any ($1::uuid[])", ids(gone))
	}
	if len(added) > 0 {
		insertAll(t, "recoup.due", s.sql.due, added)
	}
	if len(changed) > 0 {
		b := newBatch(s.sql.due, changed)
		t.queue(b.update("recoup.due"), b.args...)
	}
	s.writeLeases(t, w, leased)
}

// writeLeases queues leases. When an error fell due stays as it is: see the table.
func (s *Store) writeLeases(t *tx, w *store.UnitOfWork, leased []*recoup.Error) {
	if len(leased) == 0 {
		return
	}
	b := newBatch(without(s.sql.due, "due_at"), leased)
	t.queue(b.update("recoup.due"), b.args...)
	var given []*recoup.Error
	for _, e := range leased {
		if w.Was(e.ID).LeaseToken != e.LeaseToken {
			given = append(given, e)
		}
	}
	if len(given) > 0 {
		first := slices.MinFunc(given, func(a, b *recoup.Error) int { return a.LeaseEndsAt.Compare(b.LeaseEndsAt) })
		t.queue("insert into recoup.lease values ($1, $2, $3)", first.LeasedAt, first.LeaseEndsAt, ids(given))
	}
}

// without leaves out a column.
func without[R any](columns []column[R], name string) []column[R] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[R]) bool { return c.name == name })
}

func ids(list []*recoup.Error) [][]byte {
	raw := make([][]byte, len(list))
	for i, e := range list {
		raw[i] = e.ID[:]
	}
	return raw
}
