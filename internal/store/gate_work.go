package store

import (
	"time"

	"recoup"
	"recoup/internal/store/row"
)

// CaseWork collects the decisions about cases of one transaction and what must
// be written for them. Cases are decided in order, and each sees what those
// before it have done. What it returns is to be written in the order of its
// methods: reentries, recoveries, intakes, new recoveries, leases, AIR.
type CaseWork struct {
	now        time.Time
	cases      []*caseRow
	byIntake   map[recoup.ID]*caseRow
	byRecovery map[recoup.ID]*caseRow

	reentries []Intake
	air       []AIR
}

// caseRow is a case in the course of a transaction.
type caseRow struct {
	Case
	was Case // as it is stored
}

// NewCaseWork begins with the cases that the transaction has locked, and the time
// at which it had them: that of all that is decided.
func NewCaseWork(now time.Time, locked []Case) *CaseWork {
	w := &CaseWork{now: now, byIntake: map[recoup.ID]*caseRow{}, byRecovery: map[recoup.ID]*caseRow{}}
	for _, c := range locked {
		r := &caseRow{Case: c, was: c}
		w.cases = append(w.cases, r)
		w.byIntake[c.Intake.ID] = r
		w.byRecovery[c.Recovery.ID] = r
	}
	return w
}

// StepIntake decides one input to an intake. A first result knows nothing of a
// recovery, even if there is one.
func (w *CaseWork) StepIntake(in CaseStep) CaseOutcome {
	r := w.byIntake[in.ID]
	if r == nil {
		return CaseOutcome{Err: ErrNotFound}
	}
	return w.step(r, Case{Batch: r.Batch, Intake: r.Intake}, in.Decide)
}

// StepRecovery decides one input to the case of a recovery.
func (w *CaseWork) StepRecovery(in CaseStep) CaseOutcome {
	r := w.byRecovery[in.ID]
	if r == nil {
		return CaseOutcome{Err: ErrNotFound}
	}
	return w.step(r, r.Case, in.Decide)
}

// StepAll decides the same input to every case, and returns the cases that
// accepted it, in their order.
func (w *CaseWork) StepAll(decide DecideCase) []Case {
	var list []Case
	for _, r := range w.cases {
		if out := w.step(r, r.Case, decide); out.Err == nil {
			list = append(list, out.Case)
		}
	}
	return list
}

// StepBatch decides an input to a batch as a whole and, once its kill switch is
// on, to every case, which is the cases of the batch that are leased.
func (w *CaseWork) StepBatch(b Batch, decide DecideCase) (Batch, error) {
	next, effects, err := decide(Case{Batch: b}, w.now)
	w.air = append(w.air, effects.AIR...)
	if err != nil {
		return b, err
	}
	if next.Batch.Killed() {
		for _, r := range w.cases {
			r.Batch = next.Batch
		}
		w.StepAll(decide)
	}
	return next.Batch, nil
}

func (w *CaseWork) step(r *caseRow, current Case, decide DecideCase) CaseOutcome {
	next, effects, err := decide(current, w.now)
	w.air = append(w.air, effects.AIR...)
	if err != nil {
		return CaseOutcome{Case: r.Case, Effects: effects, Err: err}
	}
	r.Case = next
	if !effects.Reentry.ID.IsZero() {
		w.reentries = append(w.reentries, effects.Reentry)
	}
	return CaseOutcome{Case: next, Effects: effects}
}

// Reentries returns the intakes that take over from failed ones.
func (w *CaseWork) Reentries() []Intake { return w.reentries }

// Recoveries returns the new versions of stored recoveries.
func (w *CaseWork) Recoveries() []Recovery {
	return pickCases(w, func(r *caseRow) (Recovery, bool) {
		return r.Recovery, !r.was.Recovery.ID.IsZero() && r.Recovery != r.was.Recovery
	})
}

// Intakes returns the new versions of stored intakes.
func (w *CaseWork) Intakes() []Intake {
	return pickCases(w, func(r *caseRow) (Intake, bool) { return r.Intake, r.Intake != r.was.Intake })
}

// NewRecoveries returns the recoveries that first failures have begun.
func (w *CaseWork) NewRecoveries() []Recovery {
	return pickCases(w, func(r *caseRow) (Recovery, bool) {
		return r.Recovery, r.was.Recovery.ID.IsZero() && !r.Recovery.ID.IsZero()
	})
}

// Leases returns the leases that have changed: those to be stored, and those to
// be forgotten because they tell nothing any more.
func (w *CaseWork) Leases() (held, gone []LeaseOf) {
	changed := func(keep bool) []LeaseOf {
		return pickCases(w, func(r *caseRow) (LeaseOf, bool) {
			return LeaseOf{r.Recovery.ID, r.Lease}, r.Lease != r.was.Lease && keep == (r.Lease != RecoveryLease{})
		})
	}
	return changed(true), changed(false)
}

// LeaseOf is a lease and the recovery it is of.
type LeaseOf struct {
	RecoveryID recoup.ID
	RecoveryLease
}

// RecoveryLeases describes the rows of leases.
var RecoveryLeases = row.Table[LeaseOf]{Name: "cl.gate_zero_lease", Columns: append([]row.Column[LeaseOf]{
	row.ID("recovery_id", func(l *LeaseOf) *recoup.ID { return &l.RecoveryID }).Key(),
}, row.Within("", recoveryLeases, func(l *LeaseOf) *RecoveryLease { return &l.RecoveryLease })...)}

// AIR returns the rows to append, in order.
func (w *CaseWork) AIR() []AIR { return w.air }

func pickCases[T any](w *CaseWork, pick func(*caseRow) (T, bool)) []T {
	var list []T
	for _, r := range w.cases {
		if v, ok := pick(r); ok {
			list = append(list, v)
		}
	}
	return list
}
