package store

import (
	"encoding/json"
	"slices"
	"time"

	"recoup"
	"recoup/internal/store/row"
)

// Batch is an import of intakes that belong together (spec 004, 5). A zero
// Batch means that there is none.
type Batch struct {
	ID          string    `json:"batch_id"`
	CreatedAt   time.Time `json:"created_at"`
	CompletedAt time.Time `json:"completed_at,omitzero"`
	FreezeAt    time.Time `json:"batch_freeze_at,omitzero"` // from then on nothing in it is retried
	FrozenAt    time.Time `json:"frozen_at,omitzero"`       // nothing in it is ACTIVE any more
	KilledAt    time.Time `json:"killed_at,omitzero"`       // the kill switch is on
	KilledBy    string    `json:"killed_by,omitempty"`
	KillReason  string    `json:"kill_reason,omitempty"`
}

// Batches describes the rows of batches.
var Batches = row.Table[Batch]{Name: "cl.gate_zero_batch", Columns: []row.Column[Batch]{
	row.Text("batch_id", func(b *Batch) *string { return &b.ID }).Key(),
	row.Time("created_at", func(b *Batch) *time.Time { return &b.CreatedAt }),
	row.Time("completed_at", func(b *Batch) *time.Time { return &b.CompletedAt }),
	row.Time("batch_freeze_at", func(b *Batch) *time.Time { return &b.FreezeAt }),
	row.Time("frozen_at", func(b *Batch) *time.Time { return &b.FrozenAt }),
	row.Time("killed_at", func(b *Batch) *time.Time { return &b.KilledAt }),
	row.Text("killed_by", func(b *Batch) *string { return &b.KilledBy }),
	row.Text("kill_reason", func(b *Batch) *string { return &b.KillReason }),
}}

// Killed reports whether the kill switch is on.
func (b *Batch) Killed() bool { return !b.KilledAt.IsZero() }

// Frozen reports whether the batch's time is over at now.
func (b *Batch) Frozen(now time.Time) bool {
	return !b.FrozenAt.IsZero() || !b.FreezeAt.IsZero() && !now.Before(b.FreezeAt)
}

// IntakeStatus is where an intake stands.
type IntakeStatus string

// The statuses of an intake. All but PENDING and FAILED are final, and FAILED
// never becomes AUTHORIZED (spec 004, 9).
const (
	IntakePending          IntakeStatus = "PENDING"
	IntakeFailed           IntakeStatus = "FAILED"
	IntakeAuthorized       IntakeStatus = "AUTHORIZED"
	IntakeReenterSucceeded IntakeStatus = "REENTER_SUCCEEDED"
)

// Intake is a company candidate at Gate Zero. But for its status it never
// changes.
type Intake struct {
	ID          recoup.ID    `json:"intake_id"`
	BatchID     string       `json:"batch_id,omitempty"`
	ImportKey   string       `json:"import_key,omitempty"` // line or key in its import, unique within the batch
	CompanyName string       `json:"company_name"`
	Domain      string       `json:"domain,omitempty"`
	LinkedInURL string       `json:"linkedin_url,omitempty"`
	State       string       `json:"state,omitempty"`
	Status      IntakeStatus `json:"status"`
	PreviousID  recoup.ID    `json:"previous_intake_id,omitzero"` // the failed intake that it took over from
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
}

// Intakes describes the rows of intakes.
var Intakes = row.Table[Intake]{Name: "cl.gate_zero_intake", Columns: []row.Column[Intake]{
	row.ID("intake_id", func(i *Intake) *recoup.ID { return &i.ID }).Key(),
	row.Text("batch_id", func(i *Intake) *string { return &i.BatchID }).Fixed(),
	row.Text("import_key", func(i *Intake) *string { return &i.ImportKey }).Fixed(),
	row.Text("company_name", func(i *Intake) *string { return &i.CompanyName }).Fixed(),
	row.Text("domain", func(i *Intake) *string { return &i.Domain }).Fixed(),
	row.Text("linkedin_url", func(i *Intake) *string { return &i.LinkedInURL }).Fixed(),
	row.Text("state", func(i *Intake) *string { return &i.State }).Fixed(),
	row.Text("status", func(i *Intake) *string { return (*string)(&i.Status) }),
	row.ID("previous_intake_id", func(i *Intake) *recoup.ID { return &i.PreviousID }).Fixed(),
	row.Time("created_at", func(i *Intake) *time.Time { return &i.CreatedAt }).Fixed(),
	row.Time("updated_at", func(i *Intake) *time.Time { return &i.UpdatedAt }),
}}

// RecoveryStatus is where a recovery stands.
type RecoveryStatus string

// The statuses of a recovery (spec 004, 4 and 9). All but ACTIVE are final.
const (
	RecoveryActive    RecoveryStatus = "ACTIVE"
	RecoveryExhausted RecoveryStatus = "EXHAUSTED"
	RecoverySucceeded RecoveryStatus = "SUCCEEDED"
)

// Recovery tracks the retries of a failed intake. Its fields are the columns of
// spec 004, 2.
type Recovery struct {
	ID             recoup.ID      `json:"recovery_id"`
	IntakeID       recoup.ID      `json:"intake_id"`
	BatchID        string         `json:"batch_id,omitempty"`
	FailureReason  string         `json:"failure_reason"`
	AttemptCount   int            `json:"attempt_count"`
	NextEligibleAt time.Time      `json:"next_eligible_at"`
	Status         RecoveryStatus `json:"status"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
}

// Recoveries describes the rows of recoveries.
var Recoveries = row.Table[Recovery]{Name: "cl.gate_zero_recovery", Columns: []row.Column[Recovery]{
	row.ID("recovery_id", func(r *Recovery) *recoup.ID { return &r.ID }).Key(),
	row.ID("intake_id", func(r *Recovery) *recoup.ID { return &r.IntakeID }),
	row.Text("batch_id", func(r *Recovery) *string { return &r.BatchID }),
	row.Text("failure_reason", func(r *Recovery) *string { return &r.FailureReason }),
	row.Int("attempt_count", func(r *Recovery) *int { return &r.AttemptCount }),
	row.Time("next_eligible_at", func(r *Recovery) *time.Time { return &r.NextEligibleAt }),
	row.Text("status", func(r *Recovery) *string { return (*string)(&r.Status) }),
	row.Time("created_at", func(r *Recovery) *time.Time { return &r.CreatedAt }),
	row.Time("updated_at", func(r *Recovery) *time.Time { return &r.UpdatedAt }),
}}

// RecoveryLease is a worker's hold on a recovery, and how many of such holds
// have run out since the last attempt that counted. It is kept apart from the
// recovery, because coming and going are no changes of it.
type RecoveryLease struct {
	recoup.Lease
	Lapses int `json:"lapses,omitempty"`
}

// recoveryLeases describes the columns of leases, but for the recovery that one is of.
var recoveryLeases = []row.Column[RecoveryLease]{
	row.ID("token", func(r *RecoveryLease) *recoup.ID { return &r.LeaseToken }),
	row.Text("worker", func(r *RecoveryLease) *string { return &r.LeaseWorker }),
	row.Time("leased_at", func(r *RecoveryLease) *time.Time { return &r.LeasedAt }),
	row.Time("ends_at", func(r *RecoveryLease) *time.Time { return &r.LeaseEndsAt }),
	row.Int("lapses", func(r *RecoveryLease) *int { return &r.Lapses }),
}

// AIREvent names what a row of the AIR tells of.
type AIREvent string

// The events of the AIR. The first four are those of spec 004, 8 and 9; the
// last three are of a batch and name no intake.
const (
	AIRAuth       AIREvent = "AUTH"        // the verification passed
	AIRFail       AIREvent = "FAIL"        // it failed
	AIRReenter    AIREvent = "REENTER"     // after recovery the company goes on as a new intake
	AIRExhausted  AIREvent = "EXHAUSTED"   // no further retry
	AIRLateResult AIREvent = "LATE_RESULT" // a pass that came after the end, and does not count
	AIRLapse      AIREvent = "LAPSE"       // a lease ran out without a result; no attempt was used
	AIRRevoke     AIREvent = "REVOKE"      // the kill switch took a lease away; no attempt was used
	AIRKill       AIREvent = "KILL"        // the kill switch was turned on
	AIRRelease    AIREvent = "RELEASE"     // and off again
	AIRFreeze     AIREvent = "FREEZE"      // the freeze is done
)

// AIR is one row of Gate Zero's record of what happened. Rows are written in the
// commit that they tell of, and never changed.
type AIR struct {
	IntakeID    recoup.ID `json:"intake_id,omitzero"`
	RecoveryID  recoup.ID `json:"recovery_id,omitzero"`
	BatchID     string    `json:"batch_id,omitempty"`
	Event       AIREvent  `json:"event"`
	Reason      string    `json:"reason,omitempty"`
	Attempt     int       `json:"attempt_count,omitempty"` // of the recovery, after this
	Actor       string    `json:"actor,omitempty"`         // the worker, or who used the kill switch
	NewIntakeID recoup.ID `json:"new_intake_id,omitzero"`  // of a REENTER
	At          time.Time `json:"at"`
}

// AIRs describes the rows of the AIR.
var AIRs = row.Table[AIR]{Name: "cl.gate_zero_air", Columns: []row.Column[AIR]{
	row.ID("intake_id", func(a *AIR) *recoup.ID { return &a.IntakeID }),
	row.ID("recovery_id", func(a *AIR) *recoup.ID { return &a.RecoveryID }),
	row.Text("batch_id", func(a *AIR) *string { return &a.BatchID }),
	row.Text("event", func(a *AIR) *string { return (*string)(&a.Event) }),
	row.Text("reason", func(a *AIR) *string { return &a.Reason }),
	row.Int("attempt_count", func(a *AIR) *int { return &a.Attempt }),
	row.Text("actor", func(a *AIR) *string { return &a.Actor }),
	row.ID("new_intake_id", func(a *AIR) *recoup.ID { return &a.NewIntakeID }),
	row.Time("at", func(a *AIR) *time.Time { return &a.At }),
}}

// Case is what a decision of Gate Zero is about: an intake, its batch, and the
// recovery of its failure with its lease, as far as there are any. What is done
// to a batch as a whole is decided about a case that is nothing but the batch.
type Case struct {
	Batch    Batch         `json:"batch,omitzero"`
	Intake   Intake        `json:"intake,omitzero"`
	Recovery Recovery      `json:"recovery,omitzero"`
	Lease    RecoveryLease `json:"lease,omitzero"`
}

// Cases describes the columns of cases, as a join of the batch b, the intake i, the
// recovery r and the lease l reads them.
var Cases = slices.Concat(
	row.Within("b.", Batches.Columns, func(c *Case) *Batch { return &c.Batch }),
	row.Within("i.", Intakes.Columns, func(c *Case) *Intake { return &c.Intake }),
	row.Within("r.", Recoveries.Columns, func(c *Case) *Recovery { return &c.Recovery }),
	row.Within("l.", recoveryLeases, func(c *Case) *RecoveryLease { return &c.Lease }))

// CaseEffects is what a decision causes beside the case's next version. All of
// it belongs into the same commit.
type CaseEffects struct {
	AIR     []AIR
	Reentry Intake // the intake that takes over; its id is zero if there is none
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
// first. Decide turns each into its leased version, or, where the lapse of an
// earlier lease has used an attempt, into one without a lease, which is stored
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

// BatchStatus is a batch and how many of its intakes and recoveries are in
// which status.
type BatchStatus struct {
	Batch
	Intakes    map[IntakeStatus]int64   `json:"intakes"`
	Recoveries map[RecoveryStatus]int64 `json:"recoveries"`
}

// BatchCounts reads the counts of a batch, which are an object of all statuses.
type BatchCounts BatchStatus

// UnmarshalJSON tells the statuses of intakes and recoveries apart, which share no
// word.
func (c *BatchCounts) UnmarshalJSON(value []byte) error {
	c.Intakes, c.Recoveries = map[IntakeStatus]int64{}, map[RecoveryStatus]int64{}
	var counts map[string]int64
	err := json.Unmarshal(value, &counts)
	for status, n := range counts {
		switch r := RecoveryStatus(status); r {
		case RecoveryActive, RecoveryExhausted, RecoverySucceeded:
			c.Recoveries[r] = n
		default:
			c.Intakes[IntakeStatus(status)] = n
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
