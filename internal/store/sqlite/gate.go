package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"recoup"
	"recoup/internal/store"
)

const (
	// eligibleBatches are those that neither a kill switch nor the freeze holds
	// back, and '' for what has none. ?1 is the time; ?2 is the one that is asked
	// for, or ''.
	eligibleBatches = `select '' where ?2 = '' union all select batch_id from gate_zero_batch
		where frozen_at is null and killed_at is null and (batch_freeze_at is null or batch_freeze_at > ?1) and ?2 in ('', batch_id)`

	// unheld is a recovery r that no worker holds at ?1.
	unheld = `not exists (select 1 from gate_zero_lease l where l.recovery_id = r.recovery_id and l.ends_at > ?1)`

	// selectClaimable reads the eligible recoveries of one batch, the longest
	// waiting first.
	selectClaimable = `select recovery_id, next_eligible_at from gate_zero_recovery r indexed by gate_zero_recovery_claim_idx
		where coalesce(batch_id, '') = ?2 and status = 'ACTIVE' and next_eligible_at <= ?1 and ` + unheld + `
		order by next_eligible_at, recovery_id limit ?3`

	// selectFreezable reads what is ACTIVE in a batch and not held.
	selectFreezable = `select recovery_id from gate_zero_recovery r indexed by gate_zero_recovery_claim_idx
		where coalesce(batch_id, '') = ?2 and status = 'ACTIVE' and ` + unheld + ` limit ?3`

	// openBatches are those whose kill switch is off, and '' for what has none. A
	// frozen batch is among them: its intakes get their first result. ?1 is the one
	// that is asked for, or ''.
	openBatches = `select '' where ?1 = '' union all select batch_id from gate_zero_batch where killed_at is null and ?1 in ('', batch_id)`
	anyBatch    = `select '' union all select batch_id from gate_zero_batch`

	// selectPending reads the intakes of one batch that wait for their first
	// result and that nobody is at, the oldest first.
	selectPending = `select intake_id from gate_zero_intake i indexed by gate_zero_intake_list_idx
		where coalesce(batch_id, '') = ?2 and status = 'PENDING'
		and not exists (select 1 from gate_zero_turn t where t.intake_id = i.intake_id and t.ends_at > ?1)
		order by intake_id limit ?3`
)

// waiting is a recovery and since when it is eligible.
type waiting struct {
	id    recoup.ID
	since int64
}

// Eligible implements [verb.Tx]: it returns the longest waiting of all batches: as many as are asked for
// are read of each, and the first of them are taken.
func (a act) Eligible(batch string, limit int) ([]recoup.ID, error) {
	now := micros(a.now)
	batches, err := collectAll(a.tx, plainText, eligibleBatches, now, batch)
	if err != nil {
		return nil, err
	}
	var all []waiting
	for _, batch := range batches {
		list, err := collectAll(a.tx, func(w *waiting) []any { return []any{id{&w.id}, &w.since} }, selectClaimable, now, batch, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.since, b.since), bytes.Compare(a.id[:], b.id[:]))
	})
	all = all[:min(len(all), limit)]
	ids := make([]recoup.ID, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	return ids, nil
}

// Pending implements [verb.Tx]: it returns the oldest of all open batches.
func (a act) Pending(batch string, limit int) ([]recoup.ID, error) {
	batches, err := collectAll(a.tx, plainText, openBatches, batch)
	if err != nil {
		return nil, err
	}
	var all []recoup.ID
	for _, batch := range batches {
		list, err := collectAll(a.tx, idField, selectPending, micros(a.now), batch, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b recoup.ID) int { return bytes.Compare(a[:], b[:]) })
	return all[:min(len(all), limit)], nil
}

// Freezable implements [verb.Tx].
func (a act) Freezable(batches []string, limit int) (all []recoup.ID, err error) {
	for _, batch := range batches {
		list, err := collectAll(a.tx, idField, selectFreezable, micros(a.now), batch, limit-len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// The lists of intakes, newest first. ?1 is the page's size and ?2 its cursor.
var (
	selectIntakes = `select ` + store.Intakes.Names("") + ` from gate_zero_intake where intake_id < ?2 order by intake_id desc limit ?1`

	selectIntakesOf = `select ` + store.Intakes.Names("") + ` from gate_zero_intake indexed by gate_zero_intake_list_idx
		where coalesce(batch_id, '') = ?3 and status = ?4 and intake_id < ?2 order by intake_id desc limit ?1`
)

// afterAll lies behind every id.
var afterAll = bytes.Repeat([]byte{0xff}, 17)

// Intakes lists intakes, newest first.
func (s *Store) Intakes(ctx context.Context, f store.IntakeFilter, p store.Page) ([]store.Intake, store.Cursor, error) {
	list, err := s.intakes(ctx, f, p)
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	list = list[:p.Size()]
	return list, lastOf(list, p, func(i *store.Intake) store.Cursor { return store.Cursor{At: i.CreatedAt, ID: i.ID} }), nil
}

// intakes reads a page, or a little more. Of every batch and status in question
// as many are read as may be needed, and the newest of all come first.
func (s *Store) intakes(ctx context.Context, f store.IntakeFilter, p store.Page) ([]store.Intake, error) {
	before := afterAll
	if !p.Cursor.IsZero() {
		before = p.Cursor.ID[:]
	}
	if f == (store.IntakeFilter{}) {
		return described(ctx, s, store.Intakes.Columns, selectIntakes, p.Size(), before)
	}
	batches, statuses := []string{f.Batch}, []store.IntakeStatus{f.Status}
	if f.Status == "" {
		statuses = store.IntakeStatuses()
	}
	if f.Batch == "" {
		var err error
		if batches, err = query(ctx, s, plainText, anyBatch); err != nil {
			return nil, err
		}
	}
	var all []store.Intake
	for _, batch := range batches {
		for _, status := range statuses {
			list, err := described(ctx, s, store.Intakes.Columns, selectIntakesOf, p.Size(), before, batch, string(status))
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Intake) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return slices.CompactFunc(all, func(a, b store.Intake) bool { return a.ID == b.ID }), nil
}

// FoldBatchCounts has nothing to fold: the triggers count in place.
func (s *Store) FoldBatchCounts(ctx context.Context) error { return ctx.Err() }
