package sqlops

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
	batches    = sqldb.NewRepository(store.Batches, "batch")
	intakes    = sqldb.NewRepository(store.Intakes, "intake")
	recoveries = sqldb.NewRepository(store.Recoveries, "recovery")
	leases     = sqldb.NewRepository(store.RecoveryLeases, "lease")
	airs       = sqldb.NewRepository(store.AIRs, "AIR")
	turns      = sqldb.NewRepository(sqldb.Table[intakeLease]{Name: "cl.gate_zero_turn", Columns: []sqldb.Column[intakeLease]{
		sqldb.ID("intake_id", func(t *intakeLease) *recoup.ID { return &t.intake }).Key(),
		sqldb.Text("worker", func(t *intakeLease) *string { return &t.worker }),
		sqldb.Time("ends_at", func(t *intakeLease) *time.Time { return &t.ends }),
	}}, "turn")

	cases = sqldb.NewView(store.Cases, "case", ` from cl.gate_zero_intake i
		left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
		left join cl.gate_zero_lease l on l.recovery_id = r.recovery_id
		left join cl.gate_zero_batch b on b.batch_id = i.batch_id`)
)

// intakeLease is a worker's hold on an intake that it verifies.
type intakeLease struct {
	intake recoup.ID
	worker string
	ends   time.Time
}

// RecordResults applies first results to intakes, in order.
func (v Ops) RecordResults(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error) {
	return v.stepCases(ctx, "record results", byIntake, steps, (*store.UnitOfWork).StepIntake)
}

// FinishRecoveries applies results of retries, in order.
func (v Ops) FinishRecoveries(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error) {
	return v.stepCases(ctx, "finish recoveries", byRecovery, steps, (*store.UnitOfWork).StepRecovery)
}

// caseKey is how cases are found and locked.
type caseKey struct{ table, column, order string }

var (
	byIntake   = caseKey{"cl.gate_zero_intake", "i.intake_id", " order by i.intake_id"}
	byRecovery = caseKey{"cl.gate_zero_recovery", "r.recovery_id", " order by r.next_eligible_at, r.recovery_id"}
)

func (v Ops) stepCases(ctx context.Context, doing string, key caseKey, steps []store.CaseStep,
	step func(*store.UnitOfWork, store.CaseStep) store.CaseOutcome) ([]store.CaseOutcome, error) {
	ids := make([]recoup.ID, len(steps))
	for i := range steps {
		ids[i] = steps[i].ID
	}
	return sqldb.Decide(ctx, v.db, doing, time.Time{}, steps, func(tx Tx) (*store.UnitOfWork, error) {
		column := key.column[2:]
		tx.LockRows("select "+column+" from "+key.table+" where "+column+" = any ($1::uuid[]) order by 1 for no key update", ids)
		return key.load(tx, ids)
	}, step, save)
}

// load reads cases whose rows are locked, and holds their batches as they are until
// the commit.
func (k caseKey) load(tx Tx, ids []recoup.ID) (*store.UnitOfWork, error) {
	tx.LockRows(`select from cl.gate_zero_batch where batch_id = any (array(
		select i.batch_id from cl.gate_zero_intake i left join cl.gate_zero_recovery r on r.intake_id = i.intake_id
		where `+k.column+` = any ($1::uuid[]))) order by batch_id for share`, ids)
	var found []store.Case
	err := tx.Lock(cases.Select("", "where "+k.column+tx.Dialect().AnyID("$1")+k.order, ids), sqldb.Into(&found, cases.Columns))
	w := store.NewUnitOfWork(tx.Now(), nil)
	w.AddCases(found)
	return w, err
}

// ClaimEligible leases eligible recoveries, the longest waiting first. Rows that
// another claimer holds at this moment are passed over.
func (v Ops) ClaimEligible(ctx context.Context, claim store.RecoveryClaim) ([]store.Case, error) {
	if claim.Limit <= 0 {
		return nil, nil
	}
	return sqldb.ActAt(ctx, v.db, "claim recoveries", claim.Now, func(tx Tx) (leased []store.Case, err error) {
		ids, err := pick(tx, tx.Query, eligible(tx.Dialect()), claim.Limit, claim.Batch)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		w, err := byRecovery.load(tx, ids)
		if err != nil {
			return nil, err
		}
		for _, c := range w.StepCases(claim.Decide) {
			if !c.Lease.LeaseToken.IsZero() {
				leased = append(leased, c)
			}
		}
		return leased, save(tx, w)
	})
}

// ClaimPending hands intakes that nobody has verified yet to a worker, the oldest
// first. Rows that another claimer holds at this moment are passed over; whether
// somebody holds an intake is asked again once it is locked.
func (v Ops) ClaimPending(ctx context.Context, claim store.IntakeClaim) (taken []recoup.Intake, at time.Time, err error) {
	if claim.Limit <= 0 {
		return nil, time.Time{}, nil
	}
	taken, err = sqldb.ActAt(ctx, v.db, "claim intakes", claim.Now, func(tx Tx) ([]recoup.Intake, error) {
		ids, err := pick(tx, tx.Lock, unverified(tx.Dialect()), claim.Limit, claim.Batch)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		at = tx.Now()
		busy, err := turns.Find(tx, "where intake_id"+tx.Dialect().AnyID("$1")+" and ends_at > $2", ids, at)
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
		if err := turns.Upsert(tx, taking...); err != nil {
			return nil, err
		}
		return intakes.Find(tx, "where intake_id"+tx.Dialect().AnyID("$1")+" and status = 'PENDING' order by intake_id", ids)
	})
	return taken, at, err
}

// ReturnPending lets others claim an intake that was handed to a worker.
func (v Ops) ReturnPending(ctx context.Context, id recoup.ID, worker string, until time.Time) error {
	return v.db.Act(ctx, "return an intake", time.Time{}, func(tx Tx) error {
		return tx.Do("delete from cl.gate_zero_turn where intake_id = $1 and worker = $2 and ends_at = $3", id, worker, until)
	})
}
