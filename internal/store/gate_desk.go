package store

import (
	"time"

	"recoup"
)

// IntakeFilter selects intakes. Empty fields do not restrict.
type IntakeFilter struct {
	Batch  string
	Status IntakeStatus
}

// IntakeClaim asks for intakes that nobody has verified yet, the oldest first.
// What it returns is not handed to others until its lease is over.
type IntakeClaim struct {
	Batch  string // only of it; empty: of all, and of none
	Worker string
	Limit  int
	Now    time.Time // zero: as the store's clock says
	Lease  time.Duration
}

// IntakeStatuses lists the statuses of an intake, in the order of its life.
func IntakeStatuses() []IntakeStatus {
	return []IntakeStatus{IntakePending, IntakeFailed, IntakeAuthorized, IntakeReenterSucceeded}
}

// GateFigures is how Gate Zero stands as a whole.
type GateFigures struct {
	Batches, Killed, Frozen int64

	Intakes    map[IntakeStatus]int64 // of those that belong to a batch
	Recoveries []ReasonCount
}

// ReasonCount is how many recoveries of a status failed last for a reason.
type ReasonCount struct {
	Status RecoveryStatus
	Reason string
	N      int64
}

// The acts on batches, as the audit names them.
const (
	ActBatchKill    = "gate_zero.kill"
	ActBatchRelease = "gate_zero.release"
	ActBatchFreeze  = "gate_zero.freeze"
)

// Audit returns the rows of the audit that tell of what was done to batches as a
// whole. They are written in the same commit.
func (w *CaseWork) Audit() []AuditEntry {
	acts := map[AIREvent]string{AIRKill: ActBatchKill, AIRRelease: ActBatchRelease, AIRFreeze: ActBatchFreeze}
	var list []AuditEntry
	for _, row := range w.air {
		if act := acts[row.Event]; act != "" {
			list = append(list, Act{By: row.Actor, Reason: row.Reason, At: row.At}.On(act, row.BatchID, nil))
		}
	}
	return list
}

// Turns returns the intakes that have their first result, so that nobody need
// verify them any more.
func (w *CaseWork) Turns() []recoup.ID {
	return pickCases(w, func(r *caseRow) (recoup.ID, bool) {
		return r.Intake.ID, r.was.Intake.Status == IntakePending && r.Intake.Status != IntakePending
	})
}
