package store

import "time"

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
