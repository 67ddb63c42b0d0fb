package store

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Batches describes the rows of batches.
var Batches = sqldb.Table[recoup.IntakeBatch]{Name: "cl.gate_zero_batch", Columns: []sqldb.Column[recoup.IntakeBatch]{
	sqldb.Text("batch_id", func(b *recoup.IntakeBatch) *string { return &b.ID }).Key(),
	sqldb.Time("created_at", func(b *recoup.IntakeBatch) *time.Time { return &b.CreatedAt }),
	sqldb.Time("completed_at", func(b *recoup.IntakeBatch) *time.Time { return &b.CompletedAt }),
	sqldb.Time("batch_freeze_at", func(b *recoup.IntakeBatch) *time.Time { return &b.FreezeAt }),
	sqldb.Time("frozen_at", func(b *recoup.IntakeBatch) *time.Time { return &b.FrozenAt }),
	sqldb.Time("killed_at", func(b *recoup.IntakeBatch) *time.Time { return &b.KilledAt }),
	sqldb.Text("killed_by", func(b *recoup.IntakeBatch) *string { return &b.KilledBy }),
	sqldb.Text("kill_reason", func(b *recoup.IntakeBatch) *string { return &b.KillReason }),
}}

// Intakes describes the rows of intakes.
var Intakes = sqldb.Table[recoup.Intake]{Name: "cl.gate_zero_intake", Columns: []sqldb.Column[recoup.Intake]{
	sqldb.ID("intake_id", func(i *recoup.Intake) *recoup.ID { return &i.ID }).Key(),
	sqldb.Text("batch_id", func(i *recoup.Intake) *string { return &i.BatchID }).Fixed(),
	sqldb.Text("import_key", func(i *recoup.Intake) *string { return &i.ImportKey }).Fixed(),
	sqldb.Text("company_name", func(i *recoup.Intake) *string { return &i.CompanyName }).Fixed(),
	sqldb.Text("domain", func(i *recoup.Intake) *string { return &i.Domain }).Fixed(),
	sqldb.Text("linkedin_url", func(i *recoup.Intake) *string { return &i.LinkedInURL }).Fixed(),
	sqldb.Text("state", func(i *recoup.Intake) *string { return &i.State }).Fixed(),
	sqldb.Text("status", func(i *recoup.Intake) *string { return (*string)(&i.Status) }),
	sqldb.ID("previous_intake_id", func(i *recoup.Intake) *recoup.ID { return &i.PreviousID }).Fixed(),
	sqldb.Time("created_at", func(i *recoup.Intake) *time.Time { return &i.CreatedAt }).Fixed(),
	sqldb.Time("updated_at", func(i *recoup.Intake) *time.Time { return &i.UpdatedAt }),
}}

// Recoveries describes the rows of recoveries.
var Recoveries = sqldb.Table[recoup.Recovery]{Name: "cl.gate_zero_recovery", Columns: []sqldb.Column[recoup.Recovery]{
	sqldb.ID("recovery_id", func(r *recoup.Recovery) *recoup.ID { return &r.ID }).Key(),
	sqldb.ID("intake_id", func(r *recoup.Recovery) *recoup.ID { return &r.IntakeID }),
	sqldb.Text("batch_id", func(r *recoup.Recovery) *string { return &r.BatchID }),
	sqldb.Text("failure_reason", func(r *recoup.Recovery) *string { return &r.FailureReason }),
	sqldb.Int("attempt_count", func(r *recoup.Recovery) *int { return &r.AttemptCount }),
	sqldb.Time("next_eligible_at", func(r *recoup.Recovery) *time.Time { return &r.NextEligibleAt }),
	sqldb.Text("status", func(r *recoup.Recovery) *string { return (*string)(&r.Status) }),
	sqldb.Time("created_at", func(r *recoup.Recovery) *time.Time { return &r.CreatedAt }),
	sqldb.Time("updated_at", func(r *recoup.Recovery) *time.Time { return &r.UpdatedAt }),
}}

// RecoveryLease is a worker's hold on a recovery, and how many of such holds
// have run out since the last attempt that counted. It is kept apart from the
// recovery, because coming and going are no changes of it.
type RecoveryLease struct {
	recoup.Lease
	Lapses int `json:"lapses,omitempty"`
}

// recoveryLeases describes the columns of leases, but for the recovery that one is of.
var recoveryLeases = []sqldb.Column[RecoveryLease]{
	sqldb.ID("token", func(r *RecoveryLease) *recoup.ID { return &r.LeaseToken }),
	sqldb.Text("worker", func(r *RecoveryLease) *string { return &r.LeaseWorker }),
	sqldb.Time("leased_at", func(r *RecoveryLease) *time.Time { return &r.LeasedAt }),
	sqldb.Time("ends_at", func(r *RecoveryLease) *time.Time { return &r.LeaseEndsAt }),
	sqldb.Int("lapses", func(r *RecoveryLease) *int { return &r.Lapses }),
}

// AIRs describes the rows of the AIR.
var AIRs = sqldb.Table[recoup.IntakeEvent]{Name: "cl.gate_zero_air", Columns: []sqldb.Column[recoup.IntakeEvent]{
	sqldb.ID("intake_id", func(a *recoup.IntakeEvent) *recoup.ID { return &a.IntakeID }),
	sqldb.ID("recovery_id", func(a *recoup.IntakeEvent) *recoup.ID { return &a.RecoveryID }),
	sqldb.Text("batch_id", func(a *recoup.IntakeEvent) *string { return &a.BatchID }),
	sqldb.Text("event", func(a *recoup.IntakeEvent) *string { return (*string)(&a.Event) }),
	sqldb.Text("reason", func(a *recoup.IntakeEvent) *string { return &a.Reason }),
	sqldb.Int("attempt_count", func(a *recoup.IntakeEvent) *int { return &a.AttemptCount }),
	sqldb.Text("actor", func(a *recoup.IntakeEvent) *string { return &a.Actor }),
	sqldb.ID("new_intake_id", func(a *recoup.IntakeEvent) *recoup.ID { return &a.NewIntakeID }),
	sqldb.Time("at", func(a *recoup.IntakeEvent) *time.Time { return &a.At }),
}}

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

// Cases describes the columns of cases, as a join of the batch b, the intake i, the
// recovery r and the lease l reads them.
var Cases = slices.Concat(
	sqldb.Within("b.", Batches.Columns, func(c *Case) *recoup.IntakeBatch { return &c.Batch }),
	sqldb.Within("i.", Intakes.Columns, func(c *Case) *recoup.Intake { return &c.Intake }),
	sqldb.Within("r.", Recoveries.Columns, func(c *Case) *recoup.Recovery { return &c.Recovery }),
	sqldb.Within("l.", recoveryLeases, func(c *Case) *RecoveryLease { return &c.Lease }))

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

// Imported is the result of an import.
type Imported struct {
	Added   int // new intakes
	Present int // those that an earlier run had imported
}

// BatchCounts reads the counts of a batch, which are an object of all statuses.
type BatchCounts recoup.IntakeBatchSummary

// UnmarshalJSON separates the statuses of intakes from those of recoveries, which
// share no name.
func (c *BatchCounts) UnmarshalJSON(value []byte) error {
	c.Intakes, c.Recoveries = map[recoup.IntakeStatus]int64{}, map[recoup.RecoveryStatus]int64{}
	var counts map[string]int64
	err := json.Unmarshal(value, &counts)
	for status, n := range counts {
		switch r := recoup.RecoveryStatus(status); r {
		case recoup.RecoveryActive, recoup.RecoveryExhausted, recoup.RecoverySucceeded:
			c.Recoveries[r] = n
		default:
			c.Intakes[recoup.IntakeStatus(status)] = n
		}
	}
	return err
}

// BatchCursor is the position of the last batch seen in a list of batches.
type BatchCursor struct {
	At time.Time
	ID string
}

// IsZero reports whether the cursor stands at the beginning.
func (c BatchCursor) IsZero() bool { return c.At.IsZero() && c.ID == "" }
