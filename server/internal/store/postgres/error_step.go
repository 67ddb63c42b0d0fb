package postgres

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// ApplyCached implements [sqlops.Tx].
func (a *act) ApplyCached(steps []store.Step, outcomes []store.Outcome) (left []int, err error) {
	done, err := a.store.applyRemembered(a.ctx, a.tx, steps, outcomes)
	for i := range steps {
		if err == nil && !done[i] {
			left = append(left, i)
		}
	}
	return left, err
}

// loadSteps locks and reads what the steps are about.
func (s *Store) loadSteps(ctx context.Context, t *tx, steps []store.Step) (*store.UnitOfWork, error) {
	locked, found, err := s.lockSteps(ctx, t, steps)
	if err != nil {
		return nil, err
	}
	counts, err := lockStepStreaks(ctx, t, steps, locked)
	if err != nil {
		return nil, err
	}
	w := newWork(t.now, locked, counts)
	w.Receipts, w.Memory = store.NewReceipts(t.now, found), s.memory
	return w, nil
}

// lockSteps locks the rows of the steps and adds those that are archived, which
// need no lock: nothing can change them. Once the rows are locked it looks for
// receipts: whoever held the lock before has left them by then.
func (s *Store) lockSteps(ctx context.Context, t *tx, steps []store.Step) ([]recoup.Error, []store.StoredReceipt, error) {
	missing := make(map[recoup.ID]bool, len(steps))
	ids := make([][]byte, len(steps))
	for i := range steps {
		ids[i], missing[steps[i].ID] = steps[i].ID[:], true
	}
	locked := make([]recoup.Error, 0, len(steps))
	s.lock(t, ids, &locked)
	var found []store.StoredReceipt
	findReceipts(t, store.ReceiptKeys(steps, func(s *store.Step) *store.Receipt { return s.Receipt }), &found)
	if err := t.lock(ctx); err != nil {
		return nil, nil, err
	}
	for i := range locked {
		delete(missing, locked[i].ID)
	}
	if len(missing) == 0 {
		return locked, found, nil
	}
	collect(t.queue(s.sql.archived, ids), decode(s.sql.archive), &locked)
	return locked, found, t.send(ctx)
}

// lock queues the locks on both rows of errors, and reads what is there then. One
// that had no row in recoup.due may have got it just before its own was locked.
func (s *Store) lock(t *tx, ids [][]byte, into *[]recoup.Error) {
	t.queue(s.sql.lockDue, ids)
	t.queue(s.sql.lockIDs, ids)
	t.queue(s.sql.lockDue, ids)
	collect(t.queue(s.sql.readIDs, ids), decode(s.sql.errors), into)
}

// lockStepStreaks locks the counts that the steps move. Few do.
func lockStepStreaks(ctx context.Context, t *tx, steps []store.Step, locked []recoup.Error) ([]store.StreakCount, error) {
	var keys []store.StreakKey
	found := make(map[recoup.ID]*recoup.Error, len(locked))
	for i := range locked {
		found[locked[i].ID] = &locked[i]
	}
	for i := range steps {
		if key := steps[i].Streak(found[steps[i].ID]); key.Family != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var counts []store.StreakCount
	lockStreaks(t, keys, &counts)
	return counts, t.lock(ctx)
}
