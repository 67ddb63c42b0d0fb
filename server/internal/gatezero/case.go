package gatezero

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// RecoveryLease is a worker's hold on a recovery, and how many of such holds
// have run out since the last attempt that counted. It is kept apart from the
// recovery, because coming and going are no changes of it.
type RecoveryLease struct {
	recoup.Lease
	Lapses int `json:"lapses,omitempty"`
}

// Case is what a decision of Gate Zero is about: an intake, its batch, and the
// recovery of its failure with its lease, as far as there are any. What is done
// to a batch as a whole is decided about a case that is nothing but the batch.
type Case struct {
	Batch    recoup.IntakeBatch `json:"batch,omitzero"`
	Intake   recoup.Intake      `json:"intake,omitzero"`
	Recovery recoup.Recovery    `json:"recovery,omitzero"`
	Lease    RecoveryLease      `json:"lease,omitzero"`
}

// Work is the case as the worker sees it that has claimed it.
func (c *Case) Work() recoup.GateZeroWork {
	return recoup.GateZeroWork{
		Intake: c.Intake, RecoveryID: c.Recovery.ID, Attempt: c.Recovery.AttemptCount,
		LeaseToken: c.Lease.LeaseToken, LeaseEndsAt: c.Lease.LeaseEndsAt,
	}
}

// Public is the recovery of the case as everybody may see it at now: with whose turn
// it is, and without the token of the lease, which is its worker's.
func (c *Case) Public(now time.Time) recoup.Recovery {
	r := c.Recovery
	r.CompanyName, r.BatchKilled, r.BatchFrozen = c.Intake.CompanyName, c.Batch.Stopped(), c.Batch.Frozen(now)
	if c.Lease.Leased(now) {
		r.LeaseWorker, r.LeaseEndsAt = c.Lease.LeaseWorker, c.Lease.LeaseEndsAt
	}
	return r
}

// CaseEffects is what a decision causes beside the case's next version. All of
// it belongs into the same commit.
type CaseEffects struct {
	AIR     []recoup.IntakeEvent
	Reentry recoup.Intake // the intake that takes over; its id is zero if there is none
}

// DecideCase is what a verb asks about each case that it has locked. It is pure;
// a verb that has to start over asks again. An error it returns refuses this
// case and leaves the others alone; the AIR rows returned with it are kept.
type DecideCase func(current Case, now time.Time) (Case, CaseEffects, error)

// CaseStep is an input to a stored case. ID is that of the intake where a first
// result is recorded, and that of the recovery where a retry is finished.
type CaseStep struct {
	ID     recoup.ID
	Decide DecideCase
}

// CaseOutcome is what became of one case of many. Err is what Decide returned,
// or ErrNotFound.
type CaseOutcome struct {
	Case    Case
	Effects CaseEffects
	Err     error
}

// RecoveryClaim asks for recoveries that are eligible, the longest waiting
// first. Decide turns each into its leased version, or, where an
// expired lease has used an attempt, into one without a lease, which is stored
// and not returned. What it refuses is skipped.
type RecoveryClaim struct {
	Batch  string // only of it; empty: of all, and of none
	Limit  int
	Now    time.Time // zero: as the store's clock says
	Decide DecideCase
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

// ImportCount is how many rows of an import are new.
type ImportCount struct {
	Added   int // new intakes
	Present int // those that an earlier run had imported
}

// BatchCursor is the position of the last batch seen in a list of batches.
type BatchCursor struct {
	At time.Time
	ID string
}

// IsZero reports whether the cursor stands at the beginning.
func (c BatchCursor) IsZero() bool { return c.At.IsZero() && c.ID == "" }
