package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"recoup"
	"recoup/internal/store"
)

var (
	selectCase = `select ` + of("b", batchColumns) + `, ` + of("i", intakeColumns) + `, ` + of("r", recoveryColumns) + `, ` + of("l", leaseColumns) + `
		from gate_zero_intake i
		left join gate_zero_recovery r on r.intake_id = i.intake_id
		left join gate_zero_lease l on l.recovery_id = r.recovery_id
		left join gate_zero_batch b on b.batch_id = i.batch_id`

	selectCaseOfIntake   = selectCase + ` where i.intake_id = ?`
	selectCaseOfRecovery = selectCase + ` where r.recovery_id = ?`

	insertIntake   = addTo("gate_zero_intake", intakeColumns)
	insertRecovery = addTo("gate_zero_recovery", recoveryColumns)
	insertAIR      = addTo("gate_zero_air", airColumns)
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

	updateRecovery = `update gate_zero_recovery set intake_id = ?2, batch_id = ?3, failure_reason = ?4, attempt_count = ?5,
		next_eligible_at = ?6, status = ?7, created_at = ?8, updated_at = ?9 where recovery_id = ?1`
	updateIntake = `update gate_zero_intake set status = ?2, updated_at = ?3 where intake_id = ?1`
	upsertLease  = `insert into gate_zero_lease (recovery_id, token, worker, leased_at, ends_at, lapses) values (?, ?, ?, ?, ?, ?)
		on conflict (recovery_id) do update set token = excluded.token, worker = excluded.worker,
		leased_at = excluded.leased_at, ends_at = excluded.ends_at, lapses = excluded.lapses`
	deleteLease = `delete from gate_zero_lease where recovery_id = ?`
)

// RecordResults applies first results to intakes, in order.
func (s *Store) RecordResults(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error) {
	return s.stepCases(ctx, selectCaseOfIntake, steps, (*store.CaseWork).StepIntake)
}

// FinishRecoveries applies results of retries, in order.
func (s *Store) FinishRecoveries(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error) {
	return s.stepCases(ctx, selectCaseOfRecovery, steps, (*store.CaseWork).StepRecovery)
}

func (s *Store) stepCases(ctx context.Context, query string, steps []store.CaseStep,
	step func(*store.CaseWork, store.CaseStep) store.CaseOutcome) ([]store.CaseOutcome, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	ids := make([]recoup.ID, len(steps))
	for i := range steps {
		ids[i] = steps[i].ID
	}
	outcomes := make([]store.CaseOutcome, len(steps))
	err := s.writer.do(ctx, func(tx *tx) error {
		cases, err := tx.casesOf(query, ids)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(tx.now, cases)
		for i := range steps {
			outcomes[i] = step(w, steps[i])
		}
		return tx.saveCases(w)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// ClaimEligible leases eligible recoveries, the longest waiting first. There is
// one writer, so none is handed to two claimers.
func (s *Store) ClaimEligible(ctx context.Context, claim store.RecoveryClaim) ([]store.Case, error) {
	if claim.Limit <= 0 {
		return nil, nil
	}
	var leased []store.Case
	err := s.writer.doAt(ctx, claim.Now, func(tx *tx) error {
		ids, err := tx.claimable(claim)
		if err != nil {
			return err
		}
		cases, err := tx.casesOf(selectCaseOfRecovery, ids)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(tx.now, cases)
		for _, c := range w.StepAll(claim.Decide) {
			if !c.Lease.LeaseToken.IsZero() {
				leased = append(leased, c)
			}
		}
		return tx.saveCases(w)
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// waiting is a recovery and since when it is eligible.
type waiting struct {
	id    recoup.ID
	since int64
}

// claimable returns the longest waiting of all batches: as many as are asked for
// are read of each, and the first of them are taken.
func (t *tx) claimable(claim store.RecoveryClaim) ([]recoup.ID, error) {
	now, limit := micros(t.now), store.Page{Limit: claim.Limit}.Size()
	batches, err := collectAll(t, func(b *string) []any { return []any{b} }, eligibleBatches, now, claim.Batch)
	if err != nil {
		return nil, err
	}
	var all []waiting
	for _, batch := range batches {
		list, err := collectAll(t, func(w *waiting) []any { return []any{id{&w.id}, &w.since} }, selectClaimable, now, batch, limit)
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

// casesOf reads cases by their ids, each once.
func (t *tx) casesOf(query string, ids []recoup.ID) ([]store.Case, error) {
	var cases []store.Case
	seen := map[recoup.ID]bool{}
	for _, key := range ids {
		if seen[key] {
			continue
		}
		seen[key] = true
		found, err := collectAll(t, caseFields, query, id{&key})
		if err != nil {
			return nil, err
		}
		cases = append(cases, found...)
	}
	return cases, nil
}

// saveCases writes everything that was decided.
func (t *tx) saveCases(w *store.CaseWork) error {
	held, gone := w.Leases()
	for _, write := range []func() error{
		func() error { return each(t, insertIntake, w.Reentries(), intakeFields) },
		func() error { return each(t, updateRecovery, w.Recoveries(), recoveryFields) },
		func() error { return each(t, updateIntake, w.Intakes(), intakeStatusFields) },
		func() error { return each(t, insertRecovery, w.NewRecoveries(), recoveryFields) },
		func() error { return each(t, upsertLease, held, heldFields) },
		func() error {
			return each(t, deleteLease, gone, func(l *store.LeaseOf) []any { return []any{id{&l.RecoveryID}} })
		},
		func() error { return each(t, deleteTurn, w.Turns(), ownID) },
		func() error { return each(t, insertAIR, w.AIR(), airFields) },
		func() error { return act{t}.Add(store.Audits.Written().Batch(w.Audit())) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// each runs a statement once for every record.
func each[T any](t *tx, query string, records []T, fields func(*T) []any) error {
	for i := range records {
		if err := t.exec(query, fields(&records[i])...); err != nil {
			return err
		}
	}
	return nil
}

// collectAll reads rows within the transaction.
func collectAll[T any](t *tx, fields func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, fields)
}
