package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// Locks are taken in one order: recoveries or intakes, then batches, shared.
// Whoever holds a batch alone (the kill switch, the freeze) never waits for a
// recovery. A claim does not change the recovery, whose lock protects its lease,
// so whether it is leased is read after it is locked.

// fromCase joins what a case is made of.
const fromCase = ` from cl.gate_zero_intake i
	left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
	left join cl.gate_zero_lease l on l.recovery_id = r.recovery_id
	left join cl.gate_zero_batch b on b.batch_id = i.batch_id`

var (
	selectCase = "select " + names(caseColumns, "") + fromCase

	// What the kill switch and the freeze hold back is passed over batch by
	// batch. Of every open batch as many are locked as may be needed, and the
	// longest waiting of all are taken.
	claimRecoveries = `
		select r.recovery_id from (
			select '' as batch_id union all
			select batch_id from cl.gate_zero_batch
			where frozen_at is null and killed_at is null and (batch_freeze_at is null or batch_freeze_at > ` + clockOr("$1") + `)) b
		cross join lateral (
			select recovery_id, next_eligible_at from cl.gate_zero_recovery r
			where coalesce(r.batch_id, '') = b.batch_id and status = 'ACTIVE' and next_eligible_at <= ` + clockOr("$1") + ` and ` + unheld + `
			order by next_eligible_at, recovery_id limit $2 for no key update of r skip locked) r
		where $3::text = '' or b.batch_id = $3
		order by r.next_eligible_at, r.recovery_id limit $2`
)

// unheld is a recovery r that no worker holds at $1.
var unheld = `not exists (select from cl.gate_zero_lease l where l.recovery_id = r.recovery_id and l.ends_at > ` + clockOr("$1") + `)`

const (
	lockIntakes    = "select intake_id from cl.gate_zero_intake where intake_id = any ($1::uuid[]) order by 1 for no key update"
	lockRecoveries = "select recovery_id from cl.gate_zero_recovery where recovery_id = any ($1::uuid[]) order by 1 for no key update"
)

// gate is a transaction of Gate Zero. Its plans are made once and kept while
// tables grow from nothing; the settings see to it that they go by indexes, and
// that nothing is compiled for a query of milliseconds.
func (s *Store) gate(ctx context.Context, doing string, at time.Time, work func(*tx) error) error {
	return s.transact(ctx, doing, at, func(t *tx) error {
		t.queue("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
		return work(t)
	})
}

// RecordResults applies first results to intakes, in order.
func (s *Store) RecordResults(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error) {
	return s.stepCases(ctx, "record results", byIntake, steps, (*store.CaseWork).StepIntake)
}

// FinishRecoveries applies results of retries, in order.
func (s *Store) FinishRecoveries(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error) {
	return s.stepCases(ctx, "finish recoveries", byRecovery, steps, (*store.CaseWork).StepRecovery)
}

// caseKey is how cases are found and locked.
type caseKey struct{ column, lock, share, order string }

var (
	byIntake = caseKey{"i.intake_id", lockIntakes,
		shareBatchesOf("i.intake_id"), " order by i.intake_id"}
	byRecovery = caseKey{"r.recovery_id", lockRecoveries,
		shareBatchesOf("r.recovery_id"), " order by r.next_eligible_at, r.recovery_id"}
)

// shareBatchesOf holds the batches of cases as they are until the commit.
func shareBatchesOf(column string) string {
	return `select from cl.gate_zero_batch where batch_id = any (array(
		select i.batch_id from cl.gate_zero_intake i left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
		where ` + column + ` = any ($1::uuid[]))) order by batch_id for share`
}

func (s *Store) stepCases(ctx context.Context, doing string, key caseKey, steps []store.CaseStep,
	step func(*store.CaseWork, store.CaseStep) store.CaseOutcome) ([]store.CaseOutcome, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	ids := make([]recoup.ID, len(steps))
	for i := range steps {
		ids[i] = steps[i].ID
	}
	outcomes := make([]store.CaseOutcome, len(steps))
	err := s.gate(ctx, doing, time.Time{}, func(t *tx) error {
		t.queue(key.lock, raw(ids))
		cases, err := key.read(ctx, t, ids)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(t.now, cases)
		for i := range steps {
			outcomes[i] = step(w, steps[i])
		}
		writeCases(t, w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// read reads cases whose rows are locked, and holds their batches as they are.
func (k caseKey) read(ctx context.Context, t *tx, ids []recoup.ID) (cases []store.Case, err error) {
	t.queue(k.share, raw(ids))
	collect(t.queue(selectCase+" where "+k.column+" = any ($1::uuid[])"+k.order, raw(ids)), decode(caseColumns), &cases)
	return cases, t.lock(ctx)
}

// ClaimEligible leases eligible recoveries, the longest waiting first. Rows that
// another claimer holds at this moment are passed over.
func (s *Store) ClaimEligible(ctx context.Context, claim store.RecoveryClaim) ([]store.Case, error) {
	if claim.Limit <= 0 {
		return nil, nil
	}
	var leased []store.Case
	err := s.gate(ctx, "claim recoveries", claim.Now, func(t *tx) error {
		leased = nil
		var ids []recoup.ID
		collect(t.queue(claimRecoveries, t.due(), clamp(claim.Limit), claim.Batch), pgx.RowTo[recoup.ID], &ids)
		if err := t.send(ctx); err != nil || len(ids) == 0 {
			return err
		}
		cases, err := byRecovery.read(ctx, t, ids)
		if err != nil {
			return err
		}
		w := store.NewCaseWork(t.now, cases)
		for _, c := range w.StepAll(claim.Decide) {
			if !c.Lease.LeaseToken.IsZero() {
				leased = append(leased, c)
			}
		}
		writeCases(t, w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// writeCases queues everything that was decided, one statement per kind of row.
func writeCases(t *tx, w *store.CaseWork) {
	addRows(t, "cl.gate_zero_intake", intakeColumns, w.Reentries(), "")
	setRows(t, "cl.gate_zero_recovery", recoveryColumns, w.Recoveries())
	setRows(t, "cl.gate_zero_intake", intakeColumns[:3], w.Intakes())
	addRows(t, "cl.gate_zero_recovery", recoveryColumns, w.NewRecoveries(), "")
	held, gone := w.Leases()
	addRows(t, "cl.gate_zero_lease", leaseColumns, held, ` on conflict (recovery_id) do update set
		token = excluded.token, worker = excluded.worker, leased_at = excluded.leased_at,
		ends_at = excluded.ends_at, lapses = excluded.lapses`)
	if len(gone) > 0 {
		t.queue("delete from cl.gate_zero_lease where recovery_id = any ($1::uuid[])", leaseColumns[0].all(pointers(gone)))
	}
	if done := w.Turns(); len(done) > 0 {
		t.queue("delete from cl.gate_zero_turn where intake_id = any ($1::uuid[])", raw(done))
	}
	addRows(t, "cl.gate_zero_air", airColumns, w.AIR(), "")
	addRows(t, "recoup.audit", auditColumns, w.Audit(), "")
}

// addRows queues the insertion of records, with what the statement ends in.
func addRows[R any](t *tx, table string, columns []column[R], records []R, end string) {
	if len(records) > 0 {
		b := newBatch(columns, pointers(records))
		t.queue(b.insert(table)+end, b.args...)
	}
}

// setRows queues new versions of records; their first column is the key.
func setRows[R any](t *tx, table string, columns []column[R], records []R) {
	if len(records) > 0 {
		b := newBatch(columns, pointers(records))
		t.queue(b.update(table), b.args...)
	}
}

// raw is ids as the driver takes them.
func raw(ids []recoup.ID) [][]byte {
	list := make([][]byte, len(ids))
	for i := range ids {
		list[i] = ids[i][:]
	}
	return list
}
