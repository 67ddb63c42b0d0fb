package gatezero

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// unit is the unit of work of Gate Zero: it collects the decisions of one transaction about
// cases, and what must be written for them. Items are decided in order, and each sees what
// those before it have done. One function saves all of it: see [save].
type unit struct {
	now        time.Time
	list       []*caseRow
	byIntake   map[recoup.ID]*caseRow
	byRecovery map[recoup.ID]*caseRow

	// What cases add, each in order: intakes that take over from failed ones, and rows
	// of the AIR.
	reentries []recoup.Intake
	air       []recoup.IntakeEvent
}

type caseRow = store.Tracked[Case]

// newUnit begins with cases that the transaction has locked, and the time at which it had
// them: that of all that is decided.
func newUnit(now time.Time, locked ...Case) *unit {
	w := &unit{now: now, byIntake: map[recoup.ID]*caseRow{}, byRecovery: map[recoup.ID]*caseRow{}}
	for _, c := range locked {
		r := &caseRow{Is: c, Was: c}
		w.list = append(w.list, r)
		w.byIntake[c.Intake.ID], w.byRecovery[c.Recovery.ID] = r, r
	}
	return w
}

// stepIntake decides one input to an intake. A first result knows nothing of a
// recovery, even if there is one.
func (w *unit) stepIntake(in CaseStep) CaseOutcome {
	r := w.byIntake[in.ID]
	if r == nil {
		return CaseOutcome{Err: sqldb.ErrNotFound}
	}
	return w.stepCase(r, Case{Batch: r.Is.Batch, Intake: r.Is.Intake}, in.Decide)
}

// stepRecovery decides one input to the case of a recovery.
func (w *unit) stepRecovery(in CaseStep) CaseOutcome {
	r := w.byRecovery[in.ID]
	if r == nil {
		return CaseOutcome{Err: sqldb.ErrNotFound}
	}
	return w.stepCase(r, r.Is, in.Decide)
}

// stepCases decides the same input to every case, and returns the cases that
// accepted it, in their order.
func (w *unit) stepCases(decide DecideCase) []Case {
	var list []Case
	for _, r := range w.list {
		if out := w.stepCase(r, r.Is, decide); out.Err == nil {
			list = append(list, out.Case)
		}
	}
	return list
}

// stepBatch decides an input to a batch as a whole and, once its kill switch is
// on, to every case, which is the cases of the batch that are leased.
func (w *unit) stepBatch(b recoup.IntakeBatch, decide DecideCase) (recoup.IntakeBatch, error) {
	next, effects, err := decide(Case{Batch: b}, w.now)
	w.air = append(w.air, effects.AIR...)
	if err != nil {
		return b, err
	}
	if next.Batch.Stopped() {
		for _, r := range w.list {
			r.Is.Batch = next.Batch
		}
		w.stepCases(decide)
	}
	return next.Batch, nil
}

func (w *unit) stepCase(r *caseRow, current Case, decide DecideCase) CaseOutcome {
	next, effects, err := decide(current, w.now)
	w.air = append(w.air, effects.AIR...)
	if err != nil {
		return CaseOutcome{Case: r.Is, Effects: effects, Err: err}
	}
	r.Is = next
	if !effects.Reentry.ID.IsZero() {
		w.reentries = append(w.reentries, effects.Reentry)
	}
	return CaseOutcome{Case: next, Effects: effects}
}

// recoveries returns the recoveries that first failures have begun, and the new
// versions of stored ones.
func (w *unit) recoveries() (added, changed []recoup.Recovery) {
	added, changes, _ := store.Parts(w.list, func(c *Case) recoup.Recovery { return c.Recovery })
	return added, news(changes)
}

// intakes returns the new versions of stored intakes.
func (w *unit) intakes() []recoup.Intake {
	_, changes, _ := store.Parts(w.list, func(c *Case) recoup.Intake { return c.Intake })
	return news(changes)
}

// verified returns the intakes that have their first result and need no verification any more.
func (w *unit) verified() (ids []recoup.ID) {
	for _, r := range w.list {
		if r.Was.Intake.Status == recoup.IntakePending && r.Is.Intake.Status != recoup.IntakePending {
			ids = append(ids, r.Is.Intake.ID)
		}
	}
	return ids
}

// news returns what parts become.
func news[P any](changes []store.Change[P]) []P {
	list := make([]P, len(changes))
	for i := range changes {
		list[i] = changes[i].Is
	}
	return list
}

// leases returns the leases that have changed: those to be stored, and the
// recoveries of those to be forgotten because they say nothing any more.
func (w *unit) leases() (held []leaseOf, gone []recoup.ID) {
	added, changes, ended := store.Parts(w.list, func(c *Case) leaseOf {
		if c.Lease == (RecoveryLease{}) {
			return leaseOf{}
		}
		return leaseOf{c.Recovery.ID, c.Lease}
	})
	for _, l := range ended {
		gone = append(gone, l.RecoveryID)
	}
	return slices.Concat(added, news(changes)), gone
}

// audit returns the rows of the audit that record what was done to batches as a
// whole. They are written in the same commit.
func (w *unit) audit() []wire.AuditEntry {
	acts := map[recoup.AIREvent]string{recoup.AIRKill: ActBatchKill, recoup.AIRRelease: ActBatchRelease, recoup.AIRFreeze: ActBatchFreeze}
	var list []wire.AuditEntry
	for _, row := range w.air {
		if act := acts[row.Event]; act != "" {
			list = append(list, store.Act{By: row.Actor, Reason: row.Reason, At: row.At}.On(act, row.BatchID, nil))
		}
	}
	return list
}
