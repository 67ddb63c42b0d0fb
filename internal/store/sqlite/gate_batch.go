package sqlite

import (
	"context"
	"fmt"
	"time"

	"recoup"
	"recoup/internal/store"
)

const (
	selectBatch = `select ` + batchColumns + ` from gate_zero_batch`

	// maxFrozen is how many batches one freeze looks after.
	maxFrozen = 100

	selectDueBatches = selectBatch + ` where frozen_at is null and batch_freeze_at <= ?1 order by batch_freeze_at limit ?2`

	// selectFreezable reads what is ACTIVE in a batch and not held.
	selectFreezable = `select recovery_id from gate_zero_recovery r indexed by gate_zero_recovery_claim_idx
		where coalesce(batch_id, '') = ?2 and status = 'ACTIVE' and ` + unheld + ` limit ?3`

	selectActive = `select exists (select 1 from gate_zero_recovery indexed by gate_zero_recovery_claim_idx
		where coalesce(batch_id, '') = ? and status = 'ACTIVE')`

	updateBatch = `update gate_zero_batch set created_at = ?2, completed_at = ?3, batch_freeze_at = ?4, frozen_at = ?5,
		killed_at = ?6, killed_by = ?7, kill_reason = ?8 where batch_id = ?1`
)

var selectLeasedOfBatch = selectCase + ` where r.recovery_id in (select recovery_id from gate_zero_lease where token is not null)
	and r.batch_id = ?`

// CreateBatch makes a batch, or returns the one of that id as it is.
func (s *Store) CreateBatch(ctx context.Context, id string, now time.Time) (b store.Batch, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		b = store.Batch{ID: id, CreatedAt: now.Truncate(time.Microsecond)}
		found, err := collectAll(tx, batchFields, selectBatch+` where batch_id = ?`, id)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			b = found[0]
			return nil
		}
		return tx.exec(addTo("gate_zero_batch", batchColumns), batchFields(&b)...)
	})
	return b, err
}

// StepBatch applies an input to a batch and, if its kill switch is then on, to
// each of its leased recoveries.
func (s *Store) StepBatch(ctx context.Context, id string, decide store.DecideCase) (store.Batch, error) {
	var next store.Batch
	var refused error
	err := s.writer.do(ctx, func(tx *tx) error {
		found, err := collectAll(tx, batchFields, selectBatch+` where batch_id = ?`, id)
		current, err := one(found, err, "batch "+id)
		if err != nil {
			return err
		}
		leased, err := collectAll(tx, caseFields, selectLeasedOfBatch, id)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(tx.now, leased)
		if next, refused = w.StepBatch(current, decide); next != current {
			if err := tx.exec(updateBatch, batchFields(&next)...); err != nil {
				return err
			}
		}
		return tx.saveCases(w)
	})
	if err == nil {
		err = refused
	}
	return next, err
}

// FreezeDue ends at most limit recoveries of batches whose time is over, and
// the batches in which nothing is left.
func (s *Store) FreezeDue(ctx context.Context, now time.Time, limit int, decide store.DecideCase) (ended int, err error) {
	err = s.writer.doAt(ctx, now, func(tx *tx) error {
		ended = 0
		due, err := collectAll(tx, batchFields, selectDueBatches, micros(tx.now), maxFrozen)
		if err != nil {
			return err
		}
		for _, b := range due {
			n, err := tx.freeze(b, store.Page{Limit: limit}.Size()-ended, decide)
			if err != nil {
				return err
			}
			ended += n
		}
		return nil
	})
	return ended, err
}

// freeze ends at most limit recoveries of a batch, and the batch if nothing in
// it is ACTIVE any more.
func (t *tx) freeze(b store.Batch, limit int, decide store.DecideCase) (ended int, err error) {
	ids, err := collectAll(t, func(key *recoup.ID) []any { return []any{id{key}} }, selectFreezable, micros(t.now), b.ID, limit)
	if err != nil {
		return 0, err
	}
	cases, err := t.casesOf(selectCaseOfRecovery, ids)
	if err != nil {
		return 0, err
	}
	w := store.NewCaseWork(t.now, cases)
	ended = len(w.StepAll(decide))
	if err := t.saveCases(w); err != nil {
		return 0, err
	}
	var active bool
	if err := t.row(selectActive, b.ID).Scan(&active); err != nil || active {
		return ended, err
	}
	w = store.NewCaseWork(t.now, nil)
	if next, refused := w.StepBatch(b, decide); refused == nil {
		if err := t.exec(updateBatch, batchFields(&next)...); err != nil {
			return 0, err
		}
	}
	return ended, t.saveCases(w)
}

// FoldBatchCounts has nothing to fold: the triggers count in place.
func (s *Store) FoldBatchCounts(ctx context.Context) error { return ctx.Err() }

// one is the only row of an answer.
func one[T any](list []T, err error, what string) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(list) == 0:
		return none, fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	return list[0], nil
}
