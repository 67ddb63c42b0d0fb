package store

import (
	"time"
)

// IntakeClaim asks for intakes that nobody has verified yet, the oldest first.
// What it returns is not handed to others until its lease is over.
type IntakeClaim struct {
	Batch  string // only of it; empty: of all, and of none
	Worker string
	Limit  int
	Now    time.Time // zero: as the store's clock says
	Lease  time.Duration
}

// The acts on batches, as the audit names them.
const (
	ActBatchKill    = "gate_zero.kill"
	ActBatchRelease = "gate_zero.release"
	ActBatchFreeze  = "gate_zero.freeze"
)
