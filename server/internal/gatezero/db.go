package gatezero

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Locks of Gate Zero are taken in one order: recoveries or intakes, then batches,
// shared. Whoever holds a batch alone (the kill switch, the freeze) never waits for
// a recovery. A claim does not change the recovery, whose lock protects its lease,
// so whether it is leased is read after it is locked.

var (
	batches      = sqldb.NewRepository(batchTable, "batch")
	intakes      = sqldb.NewRepository(intakeTable, "intake")
	recoveries   = sqldb.NewRepository(recoveryTable, "recovery")
	leases       = sqldb.NewRepository(leaseTable, "lease")
	airs         = sqldb.NewRepository(airTable, "AIR")
	intakeLeases = sqldb.NewRepository(intakeLeaseTable, "turn")
	audits       = sqldb.NewRepository(store.Audits, "audit")

	cases = sqldb.NewView(caseColumns, "case", ` from cl.gate_zero_intake i
		left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
		left join cl.gate_zero_lease l on l.recovery_id = r.recovery_id
		left join cl.gate_zero_batch b on b.batch_id = i.batch_id`)
)

// save writes everything that a unit of work has decided, one statement per kind of row,
// each after what it refers to.
func save(tx sqldb.Tx, w *unit) error {
	begun, changed := w.recoveries()
	held, ended := w.leases()
	return sqldb.InOrder(
		func() error { return intakes.Add(tx, w.reentries...) },
		func() error { return recoveries.Update(tx, changed...) },
		func() error { return intakes.Update(tx, w.intakes()...) },
		func() error { return recoveries.Add(tx, begun...) },
		func() error { return leases.Upsert(tx, held...) },
		func() error { return leases.Delete(tx, ended) },
		func() error { return intakeLeases.Delete(tx, w.verified()) },
		func() error { return airs.Add(tx, w.air...) },
		func() error { return audits.Add(tx, w.audit()...) },
	)
}

// RecordResults applies first results to intakes, in order; CaseStep.ID is
// the intake's.
func (s *Store) RecordResults(ctx context.Context, steps []CaseStep) ([]CaseOutcome, error) {
	return s.stepCases(ctx, "record results", byIntake, steps, (*unit).stepIntake)
}

// FinishRecoveries applies results of retries, in order; CaseStep.ID is the
// recovery's.
func (s *Store) FinishRecoveries(ctx context.Context, steps []CaseStep) ([]CaseOutcome, error) {
	return s.stepCases(ctx, "finish recoveries", byRecovery, steps, (*unit).stepRecovery)
}

// caseKey is how cases are found and locked.
type caseKey struct{ table, column, order string }

var (
	byIntake   = caseKey{"cl.gate_zero_intake", "i.intake_id", " order by i.intake_id"}
	byRecovery = caseKey{"cl.gate_zero_recovery", "r.recovery_id", " order by r.next_eligible_at, r.recovery_id"}
)

func (s *Store) stepCases(ctx context.Context, doing string, key caseKey, steps []CaseStep,
	step func(*unit, CaseStep) CaseOutcome) ([]CaseOutcome, error) {
	ids := make([]recoup.ID, len(steps))
	for i := range steps {
		ids[i] = steps[i].ID
	}
	return sqldb.Decide(ctx, s.db, doing, time.Time{}, steps, func(tx sqldb.Tx) (*unit, error) {
		column := key.column[2:]
		tx.LockRows("select "+column+" from "+key.table+" where "+column+" = any ($1::uuid[]) order by 1 for no key update", ids)
		return key.load(tx, ids)
	}, step, save)
}

// load reads cases whose rows are locked, and holds their batches as they are until
// the commit.
func (k caseKey) load(tx sqldb.Tx, ids []recoup.ID) (*unit, error) {
	tx.LockRows(`select from cl.gate_zero_batch where batch_id = any (array(
		select i.batch_id from cl.gate_zero_intake i left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
		where `+k.column+` = any ($1::uuid[]))) order by batch_id for share`, ids)
	var found []Case
	err := tx.Lock(cases.Select("", "where "+k.column+tx.Dialect().AnyID("$1")+k.order, ids), sqldb.Into(&found, cases.Columns))
	return newUnit(tx.Now(), found...), err
}

// ClaimEligible leases eligible recoveries: exactly those for which
// recovery.Step accepts a claim. None is handed to two claimers. A claimer may
// come away with less than there is while others claim.
func (s *Store) ClaimEligible(ctx context.Context, claim RecoveryClaim) ([]Case, error) {
	if claim.Limit <= 0 {
		return nil, nil
	}
	return sqldb.ActAt(ctx, s.db, "claim recoveries", claim.Now, func(tx sqldb.Tx) (leased []Case, err error) {
		ids, err := pick(tx, tx.Query, eligible(tx.Dialect()), claim.Limit, claim.Batch)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		w, err := byRecovery.load(tx, ids)
		if err != nil {
			return nil, err
		}
		for _, c := range w.stepCases(claim.Decide) {
			if !c.Lease.LeaseToken.IsZero() {
				leased = append(leased, c)
			}
		}
		return leased, save(tx, w)
	})
}

// ClaimPending hands intakes without a result to a worker, the oldest first,
// but those of killed batches and those that others are at. None is handed to
// two claimers.
func (s *Store) ClaimPending(ctx context.Context, claim IntakeClaim) (taken []recoup.Intake, at time.Time, err error) {
	if claim.Limit <= 0 {
		return nil, time.Time{}, nil
	}
	taken, err = sqldb.ActAt(ctx, s.db, "claim intakes", claim.Now, func(tx sqldb.Tx) ([]recoup.Intake, error) {
		ids, err := pick(tx, tx.Lock, unverified(tx.Dialect()), claim.Limit, claim.Batch)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		at = tx.Now()
		busy, err := intakeLeases.Find(tx, "where intake_id"+tx.Dialect().AnyID("$1")+" and ends_at > $2", ids, at)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id recoup.ID) bool {
			return slices.ContainsFunc(busy, func(t intakeLease) bool { return t.intake == id })
		})
		taking := make([]intakeLease, len(ids))
		for i, id := range ids {
			taking[i] = intakeLease{id, claim.Worker, at.Add(claim.Lease)}
		}
		if err := intakeLeases.Upsert(tx, taking...); err != nil {
			return nil, err
		}
		return intakes.Find(tx, "where intake_id"+tx.Dialect().AnyID("$1")+" and status = 'PENDING' order by intake_id", ids)
	})
	return taken, at, err
}

// ReturnPending lets others claim an intake that was handed to a worker until
// then, at once. If it is not that worker's any more nothing happens.
func (s *Store) ReturnPending(ctx context.Context, id recoup.ID, worker string, until time.Time) error {
	return s.db.Act(ctx, "return an intake", time.Time{}, func(tx sqldb.Tx) error {
		return tx.Do("delete from cl.gate_zero_turn where intake_id = $1 and worker = $2 and ends_at = $3", id, worker, until)
	})
}
