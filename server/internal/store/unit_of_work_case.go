package store

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// cases are the cases of Gate Zero in the course of a transaction.
type cases struct {
	list       []*caseRow
	byIntake   map[recoup.ID]*caseRow
	byRecovery map[recoup.ID]*caseRow
}

type caseRow = tracked[Case]

// AddCases adds cases that the transaction has locked.
func (w *UnitOfWork) AddCases(locked []Case) {
	w.cases.byIntake, w.cases.byRecovery = map[recoup.ID]*caseRow{}, map[recoup.ID]*caseRow{}
	for _, c := range locked {
		r := &caseRow{is: c, was: c}
		w.cases.list = append(w.cases.list, r)
		w.cases.byIntake[c.Intake.ID], w.cases.byRecovery[c.Recovery.ID] = r, r
	}
}

// StepIntake decides one input to an intake. A first result knows nothing of a
// recovery, even if there is one.
func (w *UnitOfWork) StepIntake(in CaseStep) CaseOutcome {
	r := w.cases.byIntake[in.ID]
	if r == nil {
		return CaseOutcome{Err: sqldb.ErrNotFound}
	}
	return w.stepCase(r, Case{Batch: r.is.Batch, Intake: r.is.Intake}, in.Decide)
}

// StepRecovery decides one input to the case of a recovery.
func (w *UnitOfWork) StepRecovery(in CaseStep) CaseOutcome {
	r := w.cases.byRecovery[in.ID]
	if r == nil {
		return CaseOutcome{Err: sqldb.ErrNotFound}
	}
	return w.stepCase(r, r.is, in.Decide)
}

// StepCases decides the same input to every case, and returns the cases that
// accepted it, in their order.
func (w *UnitOfWork) StepCases(decide DecideCase) []Case {
	var list []Case
	for _, r := range w.cases.list {
		if out := w.stepCase(r, r.is, decide); out.Err == nil {
			list = append(list, out.Case)
		}
	}
	return list
}

// StepBatch decides an input to a batch as a whole and, once its kill switch is
// on, to every case, which is the cases of the batch that are leased.
func (w *UnitOfWork) StepBatch(b recoup.IntakeBatch, decide DecideCase) (recoup.IntakeBatch, error) {
	next, effects, err := decide(Case{Batch: b}, w.now)
	w.AIR = append(w.AIR, effects.AIR...)
	if err != nil {
		return b, err
	}
	if next.Batch.Stopped() {
		for _, r := range w.cases.list {
			r.is.Batch = next.Batch
		}
		w.StepCases(decide)
	}
	return next.Batch, nil
}

func (w *UnitOfWork) stepCase(r *caseRow, current Case, decide DecideCase) CaseOutcome {
	next, effects, err := decide(current, w.now)
	w.AIR = append(w.AIR, effects.AIR...)
	if err != nil {
		return CaseOutcome{Case: r.is, Effects: effects, Err: err}
	}
	r.is = next
	if !effects.Reentry.ID.IsZero() {
		w.Reentries = append(w.Reentries, effects.Reentry)
	}
	return CaseOutcome{Case: next, Effects: effects}
}

// Recoveries returns the recoveries that first failures have begun, and the new
// versions of stored ones.
func (w *UnitOfWork) Recoveries() (added, changed []recoup.Recovery) {
	added, changes, _ := parts(w.cases.list, func(c *Case) recoup.Recovery { return c.Recovery })
	return added, news(changes)
}

// Intakes returns the new versions of stored intakes.
func (w *UnitOfWork) Intakes() []recoup.Intake {
	_, changes, _ := parts(w.cases.list, func(c *Case) recoup.Intake { return c.Intake })
	return news(changes)
}

// Verified returns the intakes that have their first result, so that nobody need
// verify them any more.
func (w *UnitOfWork) Verified() (ids []recoup.ID) {
	for _, r := range w.cases.list {
		if r.was.Intake.Status == recoup.IntakePending && r.is.Intake.Status != recoup.IntakePending {
			ids = append(ids, r.is.Intake.ID)
		}
	}
	return ids
}

// news returns what parts become.
func news[P any](changes []Change[P]) []P {
	list := make([]P, len(changes))
	for i := range changes {
		list[i] = changes[i].Is
	}
	return list
}

// LeaseOf is a lease and the recovery it is of.
type LeaseOf struct {
	RecoveryID recoup.ID
	RecoveryLease
}

// RecoveryLeases describes the rows of leases.
var RecoveryLeases = sqldb.Table[LeaseOf]{Name: "cl.gate_zero_lease", Columns: append([]sqldb.Column[LeaseOf]{
	sqldb.ID("recovery_id", func(l *LeaseOf) *recoup.ID { return &l.RecoveryID }).Key(),
}, sqldb.Within("", recoveryLeases, func(l *LeaseOf) *RecoveryLease { return &l.RecoveryLease })...)}

// RecoveryLeases returns the leases that have changed: those to be stored, and the
// recoveries of those to be forgotten because they say nothing any more.
func (w *UnitOfWork) RecoveryLeases() (held []LeaseOf, gone []recoup.ID) {
	added, changes, ended := parts(w.cases.list, func(c *Case) LeaseOf {
		if c.Lease == (RecoveryLease{}) {
			return LeaseOf{}
		}
		return LeaseOf{c.Recovery.ID, c.Lease}
	})
	for _, l := range ended {
		gone = append(gone, l.RecoveryID)
	}
	return slices.Concat(added, news(changes)), gone
}

// Audit returns the rows of the audit that record what was done to batches as a
// whole. They are written in the same commit.
func (w *UnitOfWork) Audit() []wire.AuditEntry {
	acts := map[recoup.AIREvent]string{recoup.AIRKill: ActBatchKill, recoup.AIRRelease: ActBatchRelease, recoup.AIRFreeze: ActBatchFreeze}
	var list []wire.AuditEntry
	for _, row := range w.AIR {
		if act := acts[row.Event]; act != "" {
			list = append(list, Act{By: row.Actor, Reason: row.Reason, At: row.At}.On(act, row.BatchID, nil))
		}
	}
	return list
}
