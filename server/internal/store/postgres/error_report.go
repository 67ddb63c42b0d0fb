package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// lockReports locks what reports replace, admit and count, and then looks for
// their receipts: whoever held the lock before has left them by then.
func (s *Store) lockReports(ctx context.Context, t *tx, reports []store.Report) (*store.UnitOfWork, error) {
	var tables, entities, codes []string
	var named [][]byte // errors that are locked by their ids
	var keys []store.StreakKey
	for _, r := range reports {
		if r.Entity != "" {
			tables, entities, codes = append(tables, r.Table), append(entities, r.Entity), append(codes, string(r.Code))
		}
		if !r.Admits.IsZero() {
			named = append(named, r.Admits[:])
		}
		if !r.Replaces.IsZero() {
			named = append(named, r.Replaces[:])
		}
		if r.Family != "" && r.Entity != "" {
			keys = append(keys, store.StreakKey{Family: r.Family, Entity: r.Entity})
		}
	}
	if t.attempt > 1 {
		lockKeys(t, tables, entities, codes)
	}
	var open []recoup.ID // most reports are the first of their kind
	collect(t.queue(s.sql.findKeys, tables, entities, codes), pgx.RowTo[recoup.ID], &open)
	var counts []store.StreakCount
	var found []store.StoredReceipt
	var known []recoup.ID
	if ids := store.ReportIDs(reports); len(ids) > 0 {
		collect(t.queue(findIDs, raw(ids)), pgx.RowTo[recoup.ID], &known)
	}
	rest := func() error {
		if len(keys) > 0 {
			counts = nil
			lockStreaks(t, keys, &counts)
		}
		found = nil
		findReceipts(t, store.ReceiptKeys(reports, func(r *store.Report) *store.Receipt { return r.Receipt }), &found)
		return t.lock(ctx)
	}
	if err := rest(); err != nil {
		return nil, err
	}
	var locked []recoup.Error
	if len(open)+len(named) > 0 {
		s.lock(t, append(named, raw(open)...), &locked)
		if err := rest(); err != nil {
			return nil, err
		}
	}
	s.takeKeys(t, locked)
	w := newWork(t.now, locked, counts)
	w.Receipts = store.NewReceipts(t.now, found)
	w.Know(known)
	return w, nil
}

// findIDs is the question which ids errors have already. An id that another report has
// just taken is found when the verb starts over: see [reportedTwice].
const findIDs = `select error_id from recoup.error where error_id = any ($1::uuid[])
	union all select error_id from recoup.error_archive where error_id = any ($1::uuid[])`

// takeKeys takes the keys of what is resolved and waits for the archive: a newer
// report of the same failure needs them.
func (s *Store) takeKeys(t *tx, locked []recoup.Error) {
	var resolved [][]byte
	for i := range locked {
		if locked[i].State == recoup.Resolved {
			resolved = append(resolved, locked[i].ID[:])
		}
	}
	if len(resolved) > 0 {
		t.queue("update recoup.error set replaceable = false where error_id = any ($1::uuid[])", resolved)
	}
}

func newWork(now time.Time, locked []recoup.Error, counts []store.StreakCount) *store.UnitOfWork {
	w := store.NewUnitOfWork(now, locked)
	for _, c := range counts {
		w.SetStreak(c.StreakKey, c.Count)
	}
	return w
}

// lockKeys queues locks on keys, which may have no row to be locked. A verb that
// has met others at its keys starts over with them; if all came back at once
// and unlocked, all but one would be in vain again.
func lockKeys(t *tx, tables, entities, codes []string) {
	names := make([]string, len(tables))
	for i := range names {
		names[i] = tables[i] + " " + entities[i] + " " + codes[i]
	}
	t.queue("select recoup.lock_names('key', $1)", names)
}
