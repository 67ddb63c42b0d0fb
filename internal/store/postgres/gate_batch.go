package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// leasedOf are the recoveries of a batch that are leased.
const leasedOf = ` where r.batch_id = $1
	and r.recovery_id = any (array(select recovery_id from cl.gate_zero_lease where token is not null))`

// maxFrozen is how many batches one freeze looks after.
const maxFrozen = 100

var (
	selectBatch = "select " + names(batchColumns, "") + " from cl.gate_zero_batch"

	freezeRecoveries = `
		select f.recovery_id from unnest($2::text[]) as b (batch_id)
		cross join lateral (
			select recovery_id from cl.gate_zero_recovery r
			where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE' and ` + unheld + `
			limit $3 for no key update of r skip locked) f
		limit $3`
)

// CreateBatch makes a batch, or returns the one of that id as it is.
func (s *Store) CreateBatch(ctx context.Context, id string, now time.Time) (store.Batch, error) {
	var found []store.Batch
	err := s.gate(ctx, "create a batch", time.Time{}, func(t *tx) error {
		found = nil
		t.queue("insert into cl.gate_zero_batch (batch_id, created_at) values ($1, $2) on conflict do nothing", id, now)
		collect(t.queue(selectBatch+" where batch_id = $1", id), decode(batchColumns), &found)
		return nil
	})
	return one(found, err, "batch "+id)
}

// StepBatch applies an input to a batch and, if its kill switch is then on, to
// each of its leased recoveries. Claims and results that are under way are
// waited for; those that come later see what was decided.
func (s *Store) StepBatch(ctx context.Context, id string, decide store.DecideCase) (store.Batch, error) {
	var next store.Batch
	var refused error
	err := s.gate(ctx, "change a batch", time.Time{}, func(t *tx) error {
		var found []store.Batch
		var leased []store.Case
		collect(t.queue(selectBatch+" where batch_id = $1 for no key update", id), decode(batchColumns), &found)
		collect(t.queue(selectCase+leasedOf, id), decode(caseColumns), &leased)
		if err := t.lock(ctx); err != nil {
			return err
		}
		current, err := one(found, nil, "batch "+id)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(t.now, leased)
		if next, refused = w.StepBatch(current, decide); next != current {
			setRows(t, "cl.gate_zero_batch", batchColumns, []store.Batch{next})
		}
		writeCases(t, w)
		return nil
	})
	if err == nil {
		err = refused
	}
	return next, err
}

// FreezeDue ends at most limit recoveries of batches whose time is over, and
// the batches in which nothing is left. Batches and recoveries that others are
// at work on are left for the next time.
func (s *Store) FreezeDue(ctx context.Context, now time.Time, limit int, decide store.DecideCase) (int, error) {
	var ended int
	err := s.gate(ctx, "freeze batches", now, func(t *tx) error {
		ended = 0
		var due []store.Batch
		collect(t.queue(selectBatch+` where frozen_at is null and batch_freeze_at <= `+clockOr("$1")+`
			order by batch_freeze_at limit $2 for no key update skip locked`, t.due(), maxFrozen), decode(batchColumns), &due)
		if err := t.send(ctx); err != nil || len(due) == 0 {
			return err
		}
		var ids []recoup.ID
		collect(t.queue(freezeRecoveries, t.due(), batchIDs(due), clamp(limit)), pgx.RowTo[recoup.ID], &ids)
		if err := t.send(ctx); err != nil {
			return err
		}
		cases, err := byRecovery.read(ctx, t, ids)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(t.now, cases)
		ended = len(w.StepAll(decide))
		writeCases(t, w)
		return sealBatches(ctx, t, due, decide)
	})
	return ended, err
}

// sealBatches notes of which batches nothing is ACTIVE any more.
func sealBatches(ctx context.Context, t *tx, due []store.Batch, decide store.DecideCase) error {
	var empty []string
	collect(t.queue(`select b.batch_id from unnest($1::text[]) as b (batch_id) where not exists (
		select from cl.gate_zero_recovery r where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE')`,
		batchIDs(due)), pgx.RowTo[string], &empty)
	if err := t.send(ctx); err != nil {
		return err
	}
	isEmpty := make(map[string]bool, len(empty))
	for _, id := range empty {
		isEmpty[id] = true
	}
	w, sealed := store.NewCaseWork(t.now, nil), []store.Batch{}
	for _, b := range due {
		if !isEmpty[b.ID] {
			continue
		}
		if next, err := w.StepBatch(b, decide); err == nil {
			sealed = append(sealed, next)
		}
	}
	setRows(t, "cl.gate_zero_batch", batchColumns, sealed)
	writeCases(t, w)
	return nil
}

// FoldBatchCounts replaces appended deltas by their sums.
func (s *Store) FoldBatchCounts(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		with old as (delete from cl.gate_zero_count returning batch_id, status, n),
		reasons as (delete from cl.gate_zero_reason returning status, reason, n),
		folded as (insert into cl.gate_zero_reason
			select status, reason, sum(n) from reasons group by 1, 2 having sum(n) <> 0)
		insert into cl.gate_zero_count
		select batch_id, status, sum(n) from old group by 1, 2 having sum(n) <> 0`)
	return failure("fold the counts of batches", err)
}

func batchIDs(batches []store.Batch) []string {
	ids := make([]string, len(batches))
	for i := range batches {
		ids[i] = batches[i].ID
	}
	return ids
}

// one is the only row of an answer.
func one[R any](list []R, err error, what string) (R, error) {
	var none R
	switch {
	case err != nil:
		return none, err
	case len(list) == 0:
		return none, fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	return list[0], nil
}
