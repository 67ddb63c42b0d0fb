package recoup

import (
	"time"
)

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

// IntakeStatuses lists the statuses of an intake, in the order of its life.
func IntakeStatuses() []IntakeStatus {
	return []IntakeStatus{IntakePending, IntakeFailed, IntakeAuthorized, IntakeReenterSucceeded}
}

// Intake is a company candidate at Gate Zero. Only its status ever changes.
type Intake struct {
	ID          ID           `json:"intake_id" doc:"names the candidate"`
	BatchID     string       `json:"batch_id,omitempty" doc:"the batch it came in"`
	ImportKey   string       `json:"import_key,omitempty" doc:"the line or key in its import, unique within the batch"`
	CompanyName string       `json:"company_name" doc:"the company's name"`
	Domain      string       `json:"domain,omitempty" doc:"its web domain"`
	LinkedInURL string       `json:"linkedin_url,omitempty" doc:"its page on LinkedIn"`
	State       string       `json:"state,omitempty" doc:"the state or region it is in"`
	Status      IntakeStatus `json:"status" enum:"PENDING,FAILED,AUTHORIZED,REENTER_SUCCEEDED" doc:"PENDING: not verified yet; FAILED: in recovery, or exhausted; AUTHORIZED: let in; REENTER_SUCCEEDED: recovered, another intake takes over"`
	PreviousID  ID           `json:"previous_intake_id,omitzero" doc:"the failed intake that it took over from"`
	CreatedAt   time.Time    `json:"created_at" doc:"when it was taken in"`
	UpdatedAt   time.Time    `json:"updated_at" doc:"when its status last changed"`
}

// IntakeFilter selects intakes. All fields that are set must match.
type IntakeFilter struct {
	BatchID string       `query:"batch_id" maxLength:"200" doc:"only this batch"`
	Status  IntakeStatus `query:"status" enum:"PENDING,FAILED,AUTHORIZED,REENTER_SUCCEEDED" doc:"only intakes in this status"`
}

// IntakeBatch is an import of intakes that belong together (spec 004, 5). A zero
// IntakeBatch means that there is none.
type IntakeBatch struct {
	ID          string    `json:"batch_id" doc:"the batch's name"`
	CreatedAt   time.Time `json:"created_at" doc:"when it was made"`
	CompletedAt time.Time `json:"completed_at,omitzero" doc:"when its import was done"`
	WindowDays  int       `json:"recovery_window_days" doc:"for how long after that failures are retried"` // from the policy in force; set in responses only
	FreezeAt    time.Time `json:"batch_freeze_at,omitzero" doc:"from then on nothing in it is retried"`
	FrozenAt    time.Time `json:"frozen_at,omitzero" doc:"when the freeze was done"`
	Killed      bool      `json:"killed" doc:"the kill switch is on"` // the kill switch is on; set in responses only
	KilledAt    time.Time `json:"killed_at,omitzero" doc:"since when it is stopped"`
	KilledBy    string    `json:"killed_by,omitempty" doc:"who stopped it"`
	KillReason  string    `json:"kill_reason,omitempty" doc:"why it was stopped"`
}

// Stopped reports whether the kill switch is on.
func (b *IntakeBatch) Stopped() bool { return !b.KilledAt.IsZero() }

// Frozen reports whether the batch's time is over at now.
func (b *IntakeBatch) Frozen(now time.Time) bool {
	return !b.FrozenAt.IsZero() || !b.FreezeAt.IsZero() && !now.Before(b.FreezeAt)
}

// IntakeBatchSummary is a batch with the number of its intakes and recoveries in each status.
type IntakeBatchSummary struct {
	IntakeBatch
	Intakes    map[IntakeStatus]int64   `json:"intakes,omitempty" doc:"how many intakes are in which status"`
	Recoveries map[RecoveryStatus]int64 `json:"recoveries,omitempty" doc:"how many recoveries are in which status"`
}

// RecoveryStatus is where a recovery stands.
type RecoveryStatus string

// The statuses of a recovery (spec 004, 4 and 9). All but ACTIVE are final.
const (
	RecoveryActive    RecoveryStatus = "ACTIVE"
	RecoveryExhausted RecoveryStatus = "EXHAUSTED"
	RecoverySucceeded RecoveryStatus = "SUCCEEDED"
)

// Recovery tracks the retries of a failed intake. The columns of spec 004, 2 are
// stored; fields marked "shown only" come from its company, lease and batch, and are
// set in responses only.
type Recovery struct {
	ID             ID             `json:"recovery_id" doc:"names the recovery"`
	IntakeID       ID             `json:"intake_id" doc:"the failed intake"`
	BatchID        string         `json:"batch_id,omitempty" doc:"the batch it came in"`
	CompanyName    string         `json:"company_name,omitempty" doc:"the company's name"` // shown only
	FailureReason  string         `json:"failure_reason" doc:"why it last failed"`
	Inconclusive   bool           `json:"inconclusive" doc:"the reason says nothing about the company, such as a time-out"` // shown only: the reason says nothing about the company
	AttemptCount   int            `json:"attempt_count" doc:"how often it was verified so far"`
	NextEligibleAt time.Time      `json:"next_eligible_at" doc:"when it may be verified again"`
	Status         RecoveryStatus `json:"status" enum:"ACTIVE,EXHAUSTED,SUCCEEDED" doc:"ACTIVE: will be retried; EXHAUSTED: no more retries; SUCCEEDED: recovered"`
	CreatedAt      time.Time      `json:"created_at" doc:"when it first failed"`
	UpdatedAt      time.Time      `json:"updated_at" doc:"when it was last changed"`
	LeaseWorker    string         `json:"lease_worker,omitempty" doc:"who retries it at the moment"`  // shown only: who retries it at the moment
	LeaseEndsAt    time.Time      `json:"lease_ends_at,omitzero" doc:"until when"`                    // shown only
	BatchKilled    bool           `json:"batch_killed,omitempty" doc:"its batch is stopped"`          // shown only
	BatchFrozen    bool           `json:"batch_frozen,omitempty" doc:"the time of its batch is over"` // shown only
}

// AIREvent is the kind of a row of the AIR.
type AIREvent string

// The events of the AIR. The first four are those of spec 004, 8 and 9; the
// last three are of a batch and name no intake.
const (
	AIRAuth       AIREvent = "AUTH"        // the verification passed
	AIRFail       AIREvent = "FAIL"        // it failed
	AIRReenter    AIREvent = "REENTER"     // after recovery the company goes on as a new intake
	AIRExhausted  AIREvent = "EXHAUSTED"   // no further retry
	AIRLateResult AIREvent = "LATE_RESULT" // a pass that came after the end, and does not count
	AIRLapse      AIREvent = "LAPSE"       // a lease expired without a result; no attempt was used
	AIRRevoke     AIREvent = "REVOKE"      // the kill switch took a lease away; no attempt was used
	AIRKill       AIREvent = "KILL"        // the kill switch was turned on
	AIRRelease    AIREvent = "RELEASE"     // and off again
	AIRFreeze     AIREvent = "FREEZE"      // the freeze is done
)

// IntakeEvent is a row of the AIR, Gate Zero's record of what happened. Rows are
// written in the same commit as the change that they record, and never changed.
type IntakeEvent struct {
	At           time.Time `json:"at" doc:"when it happened"`
	Event        AIREvent  `json:"event" doc:"AUTH, FAIL, REENTER, EXHAUSTED, LATE_RESULT, LAPSE or REVOKE; of a batch KILL, RELEASE or FREEZE"`
	IntakeID     ID        `json:"intake_id,omitzero" doc:"of which intake"`
	RecoveryID   ID        `json:"-"`
	BatchID      string    `json:"-"`
	Reason       string    `json:"reason,omitempty" doc:"why"`
	Inconclusive bool      `json:"inconclusive,omitempty" doc:"the reason says nothing about the company"` // shown only: the reason says nothing about the company
	AttemptCount int       `json:"attempt_count,omitempty" doc:"attempts of the recovery, after this"`
	Actor        string    `json:"actor,omitempty" doc:"the worker, or who used the kill switch"`
	NewIntakeID  ID        `json:"new_intake_id,omitzero" doc:"of a REENTER: the intake that takes over"`
}

// GateZeroStatus is the totals of Gate Zero.
type GateZeroStatus struct {
	Batches    int64                  `json:"batches" doc:"how many there are"`
	Killed     int64                  `json:"killed_batches" doc:"how many of them are stopped"`
	Frozen     int64                  `json:"frozen_batches" doc:"how many of them are over"`
	Intakes    map[IntakeStatus]int64 `json:"intakes" doc:"how many of those that belong to a batch are in which status"`
	Recoveries []RecoveryCount        `json:"recoveries" doc:"by status and reason"`
}

// RecoveryCount is the number of recoveries by status and last failure reason.
type RecoveryCount struct {
	Status       RecoveryStatus `json:"status" doc:"ACTIVE, EXHAUSTED or SUCCEEDED"`
	Reason       string         `json:"failure_reason" doc:"why they last failed"`
	Inconclusive bool           `json:"inconclusive" doc:"the reason says nothing about the company"` // shown only: it says nothing about the company
	N            int64          `json:"n" doc:"how many"`
}

// The kinds of work that may be claimed.
const (
	ClaimRecoveries = "recoveries" // retries only
	ClaimIntakes    = "intakes"    // first verifications only
)

// GateZeroClaim asks for work: eligible retries first, then intakes that nobody has
// verified yet.
type GateZeroClaim struct {
	Worker       string `json:"worker" maxLength:"200" doc:"a name for the record"`
	Limit        int    `json:"limit,omitempty" minimum:"0" maximum:"1000" default:"10" doc:"how many at most"`
	LeaseSeconds int    `json:"lease_seconds,omitempty" minimum:"0" maximum:"3600" default:"300" doc:"how long the lease is"`
	What         string `json:"what,omitempty" enum:"recoveries,intakes" doc:"only retries, or only first verifications; default: both"`
	BatchID      string `json:"-"` // of a receiver: only what belongs to it
}

// The verdicts of a verification.
const (
	VerdictPass = "PASS"
	VerdictFail = "FAIL"
)

// GateZeroWork is a verification that a worker has claimed. A first one has no
// recovery and no token, because only the first result counts.
type GateZeroWork struct {
	Intake      Intake    `json:"intake"`
	RecoveryID  ID        `json:"recovery_id,omitzero" doc:"of a retry: the recovery"`
	Attempt     int       `json:"attempt_count,omitempty" doc:"how often it has failed so far"`
	LeaseToken  ID        `json:"lease_token,omitzero" doc:"of a retry: name it in the result"`
	LeaseEndsAt time.Time `json:"lease_ends_at" doc:"until when it is yours"`
}

// GateZeroResult is the result of a verification. For a retry it names the recovery
// and its lease token; for a first verification only the intake.
type GateZeroResult struct {
	IntakeID   ID     `json:"intake_id,omitzero" doc:"of a first verification"`
	RecoveryID ID     `json:"recovery_id,omitzero" doc:"of a retry"`
	LeaseToken ID     `json:"lease_token,omitzero" doc:"of a retry: of the claim"`
	Worker     string `json:"worker,omitempty" maxLength:"200" doc:"a name for the record"`
	Verdict    string `json:"verdict" enum:"PASS,FAIL" doc:"what the verification found"`
	Reason     string `json:"reason,omitempty" maxLength:"64" doc:"of a FAIL: one of the policy's"`
}

// Result is the result of this work.
func (w *GateZeroWork) Result(verdict, reason string) GateZeroResult {
	return GateZeroResult{IntakeID: w.Intake.ID, RecoveryID: w.RecoveryID, LeaseToken: w.LeaseToken, Verdict: verdict, Reason: reason}
}

// NewIntake is a company candidate for Gate Zero. With an id or a key it may be
// sent again.
type NewIntake struct {
	ID          ID     `json:"intake_id,omitzero" doc:"an id of your own, by which it may be sent again; default: one is made"`
	ImportKey   string `json:"import_key,omitempty" doc:"recognises it when it is imported again; instead of intake_id"`
	CompanyName string `json:"company_name" doc:"the company's name"`
	Domain      string `json:"domain,omitempty" doc:"its web domain, such as example.com"`
	LinkedInURL string `json:"linkedin_url,omitempty" doc:"its page on LinkedIn"`
	State       string `json:"state,omitempty" doc:"the state or region it is in"`
}

// IntakeCreated is the answer to a candidate that was sent alone.
type IntakeCreated struct {
	Intake  Intake `json:"intake"`
	Created bool   `json:"created" doc:"false: it was there already"`
}

// IntakePage is a page of intakes, newest first.
type IntakePage struct {
	Intakes []Intake `json:"intakes" doc:"this page of the list"`
	Next    string   `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// IntakeImport is many candidates at once.
type IntakeImport struct {
	Intakes []NewIntake `json:"intakes" minItems:"1" maxItems:"10000" doc:"the companies"`
}

// IntakesImported is what became of the rows of an import.
type IntakesImported struct {
	Added    int          `json:"added" doc:"rows that are new"`
	Present  int          `json:"present" doc:"rows that were imported before"`
	NRefused int          `json:"refused" doc:"rows that could not be taken"`
	Refused  []RefusedRow `json:"refused_rows,omitempty" doc:"those rows, and why"`
	Ignored  []string     `json:"ignored_columns,omitempty" doc:"columns of a CSV file that are unknown"`
}

// IntakeBatchPage is a page of batches, newest first.
type IntakeBatchPage struct {
	Batches []IntakeBatchSummary `json:"batches" doc:"this page of the list"`
	Next    string               `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NewIntakeBatch asks for a batch.
type NewIntakeBatch struct {
	ID string `json:"batch_id" maxLength:"200" doc:"a name of your own"`
}

// IntakeBatchAct is the body of an act on a batch.
type IntakeBatchAct struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// KillSwitch is the state of a batch's kill switch.
type KillSwitch struct {
	BatchID  string    `json:"batch_id" doc:"the batch"`
	Killed   bool      `json:"killed" doc:"whether the batch is stopped"`
	KilledAt time.Time `json:"killed_at,omitzero" doc:"since when"`
	KilledBy string    `json:"killed_by,omitempty" doc:"who stopped it"`
	Reason   string    `json:"reason,omitempty" doc:"why it was stopped"`
}

// RecoveryPage is a page of recoveries.
type RecoveryPage struct {
	Recoveries []Recovery `json:"recoveries" doc:"this page of the list"`
	Next       string     `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// The lists of recoveries.
const (
	EligibleRecoveries  = "ELIGIBLE"  // ACTIVE, and the wait is over; the longest waiting first
	ExhaustedRecoveries = "EXHAUSTED" // the last exhausted first
)

// RecoveryFilter selects recoveries.
type RecoveryFilter struct {
	List    string `query:"list" enum:"ELIGIBLE,EXHAUSTED" default:"ELIGIBLE" doc:"which list"`
	BatchID string `query:"batch_id" maxLength:"200" doc:"only this batch"`
}

// IntakeStory is one intake from its first result to its end.
type IntakeStory struct {
	Intake   Intake        `json:"intake"`
	Recovery *Recovery     `json:"recovery,omitempty"`
	Timeline []IntakeEvent `json:"timeline" doc:"what happened, oldest first"`
}

// IntakeBatchStory is a batch and what was done to it as a whole.
type IntakeBatchStory struct {
	Batch    IntakeBatchSummary `json:"batch"`
	Timeline []IntakeEvent      `json:"timeline" doc:"what happened to the batch as a whole, oldest first"`
}

// GateZeroClaimed is the answer to a [GateZeroClaim].
type GateZeroClaimed struct {
	Work []GateZeroWork `json:"work" doc:"what was leased; empty: there is nothing to do"`
}

// GateZeroResults are the results of many verifications.
type GateZeroResults struct {
	Results []GateZeroResult `json:"results" minItems:"1" maxItems:"1000" doc:"the results; each succeeds or fails on its own"`
}

// GateZeroRecorded is the answer to a result: what became of the intake.
type GateZeroRecorded struct {
	Intake      Intake    `json:"intake"`
	Recovery    *Recovery `json:"recovery,omitempty"`
	NewIntakeID ID        `json:"new_intake_id,omitzero" doc:"the intake that takes over from a recovered one"`
}

// GateZeroRecordedBatch has an answer to each result, in their order.
type GateZeroRecordedBatch struct {
	Items []Item[GateZeroRecorded] `json:"items" doc:"an answer for each result, in their order"`
}
