package client

import (
	"encoding/json"
	"time"

	"recoup"
)

// NewIntake is a company candidate for Gate Zero. With an id or a key it may be
// sent again.
type NewIntake struct {
	ID          recoup.ID `json:"intake_id,omitzero"`
	ImportKey   string    `json:"import_key,omitempty" doc:"recognises it when it is imported again; instead of intake_id"`
	CompanyName string    `json:"company_name"`
	Domain      string    `json:"domain,omitempty"`
	LinkedInURL string    `json:"linkedin_url,omitempty"`
	State       string    `json:"state,omitempty"`
}

// IntakeLines are lines of a file of candidates.
type IntakeLines struct {
	Media     string // text/csv, with the header before the lines, or application/x-ndjson
	FirstLine int    // line of the file at which they begin, behind its header; 0: they are the file
	Data      []byte
}

// Intake is a company candidate at Gate Zero.
type Intake struct {
	ID          recoup.ID `json:"intake_id"`
	BatchID     string    `json:"batch_id,omitempty"`
	ImportKey   string    `json:"import_key,omitempty"`
	CompanyName string    `json:"company_name"`
	Domain      string    `json:"domain,omitempty"`
	LinkedInURL string    `json:"linkedin_url,omitempty"`
	State       string    `json:"state,omitempty"`
	Status      string    `json:"status" enum:"PENDING,FAILED,AUTHORIZED,REENTER_SUCCEEDED"`
	PreviousID  recoup.ID `json:"previous_intake_id,omitzero"` // the failed intake that it took over from
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// IntakeCreated is the answer to a candidate that was sent alone.
type IntakeCreated struct {
	Intake  Intake `json:"intake"`
	Created bool   `json:"created"` // false: it was there already
}

// IntakePage is a page of intakes, newest first.
type IntakePage struct {
	Intakes []Intake `json:"intakes"`
	Next    string   `json:"next,omitempty"`
}

// IntakeFilter selects intakes. Everything that is set must hold.
type IntakeFilter struct {
	BatchID string `query:"batch_id" maxLength:"200"`
	Status  string `query:"status" enum:"PENDING,FAILED,AUTHORIZED,REENTER_SUCCEEDED"`
}

// IntakeImport is many candidates at once.
type IntakeImport struct {
	Intakes []NewIntake `json:"intakes" minItems:"1" maxItems:"10000"`
}

// IntakesImported is what became of the rows of an import.
type IntakesImported struct {
	Added    int          `json:"added"`
	Present  int          `json:"present"` // imported before
	NRefused int          `json:"refused"`
	Refused  []RefusedRow `json:"refused_rows,omitempty"`
	Ignored  []string     `json:"ignored_columns,omitempty"` // of a CSV file: those that candidates do not have
}

// RefusedRow is a row that was left out. Failure decodes into a fault.Error.
type RefusedRow struct {
	Line    int             `json:"line"` // where the row begins, from 1; of a list its place
	Failure json.RawMessage `json:"failure"`
}

// IntakeBatch is an import of intakes that belong together.
type IntakeBatch struct {
	ID          string           `json:"batch_id"`
	CreatedAt   time.Time        `json:"created_at"`
	CompletedAt time.Time        `json:"completed_at,omitzero"`
	WindowDays  int              `json:"recovery_window_days"`
	FreezeAt    time.Time        `json:"batch_freeze_at,omitzero"` // from then on nothing in it is retried
	FrozenAt    time.Time        `json:"frozen_at,omitzero"`       // nothing in it is ACTIVE any more
	Killed      bool             `json:"killed"`                   // the kill switch is on
	KilledAt    time.Time        `json:"killed_at,omitzero"`
	KilledBy    string           `json:"killed_by,omitempty"`
	KillReason  string           `json:"kill_reason,omitempty"`
	Intakes     map[string]int64 `json:"intakes,omitempty"` // by status
	Recoveries  map[string]int64 `json:"recoveries,omitempty"`
}

// IntakeBatchPage is a page of batches, newest first.
type IntakeBatchPage struct {
	Batches []IntakeBatch `json:"batches"`
	Next    string        `json:"next,omitempty"`
}

// NewIntakeBatch asks for a batch.
type NewIntakeBatch struct {
	ID string `json:"batch_id" maxLength:"200"`
}

// BatchAct is what is said when something is done to a batch.
type BatchAct struct {
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}

// KillSwitch is the state of a batch's kill switch.
type KillSwitch struct {
	BatchID  string    `json:"batch_id"`
	Killed   bool      `json:"killed"`
	KilledAt time.Time `json:"killed_at,omitzero"`
	KilledBy string    `json:"killed_by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// Recovery tracks the retries of a failed intake.
type Recovery struct {
	ID             recoup.ID `json:"recovery_id"`
	IntakeID       recoup.ID `json:"intake_id"`
	BatchID        string    `json:"batch_id,omitempty"`
	CompanyName    string    `json:"company_name,omitempty"`
	FailureReason  string    `json:"failure_reason"`
	Inconclusive   bool      `json:"inconclusive"` // the reason says nothing about the company
	AttemptCount   int       `json:"attempt_count"`
	NextEligibleAt time.Time `json:"next_eligible_at"`
	Status         string    `json:"status" enum:"ACTIVE,EXHAUSTED,SUCCEEDED"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	LeaseWorker    string    `json:"lease_worker,omitempty"` // who retries it at the moment
	LeaseEndsAt    time.Time `json:"lease_ends_at,omitzero"`
	BatchKilled    bool      `json:"batch_killed,omitempty"`
	BatchFrozen    bool      `json:"batch_frozen,omitempty"`
}

// RecoveryPage is a page of recoveries.
type RecoveryPage struct {
	Recoveries []Recovery `json:"recoveries"`
	Next       string     `json:"next,omitempty"`
}

// The lists of recoveries.
const (
	Eligible  = "ELIGIBLE"  // ACTIVE, and the wait is over; the longest waiting first
	Exhausted = "EXHAUSTED" // the last exhausted first
)

// RecoveryFilter selects recoveries.
type RecoveryFilter struct {
	List    string `query:"list" enum:"ELIGIBLE,EXHAUSTED" doc:"default ELIGIBLE"`
	BatchID string `query:"batch_id" maxLength:"200"`
}

// IntakeEvent is a row of Gate Zero's record of what happened.
type IntakeEvent struct {
	At           time.Time `json:"at"`
	Event        string    `json:"event"`
	IntakeID     recoup.ID `json:"intake_id,omitzero"`
	Reason       string    `json:"reason,omitempty"`
	Inconclusive bool      `json:"inconclusive,omitempty"`
	AttemptCount int       `json:"attempt_count,omitempty"`
	Actor        string    `json:"actor,omitempty"`
	NewIntakeID  recoup.ID `json:"new_intake_id,omitzero"`
}

// IntakeStory is one intake from its first result to its end.
type IntakeStory struct {
	Intake   Intake        `json:"intake"`
	Recovery *Recovery     `json:"recovery,omitempty"`
	Timeline []IntakeEvent `json:"timeline"`
}

// BatchStory is a batch and what was done to it as a whole.
type BatchStory struct {
	Batch    IntakeBatch   `json:"batch"`
	Timeline []IntakeEvent `json:"timeline"`
}

// GateZeroStatus is how Gate Zero stands as a whole.
type GateZeroStatus struct {
	Batches    int64            `json:"batches"`
	Killed     int64            `json:"killed_batches"`
	Frozen     int64            `json:"frozen_batches"`
	Intakes    map[string]int64 `json:"intakes"` // of those that belong to a batch, by status
	Recoveries []RecoveryCount  `json:"recoveries"`
}

// RecoveryCount is how many recoveries of a status failed last for a reason.
type RecoveryCount struct {
	Status       string `json:"status"`
	Reason       string `json:"failure_reason"`
	Inconclusive bool   `json:"inconclusive"` // it says nothing about the company
	N            int64  `json:"n"`
}

// The kinds of work that may be claimed.
const (
	ClaimRecoveries = "recoveries"
	ClaimIntakes    = "intakes"
)

// GateZeroClaim asks for work: retries that are eligible, and, where there are too
// few, intakes that nobody has verified yet.
type GateZeroClaim struct {
	Worker       string `json:"worker" maxLength:"200"`
	Limit        int    `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"default 10"`
	LeaseSeconds int    `json:"lease_seconds,omitempty" minimum:"0" maximum:"3600" doc:"default 300"`
	What         string `json:"what,omitempty" enum:"recoveries,intakes" doc:"only the one or the other"`
}

// GateZeroWork is a verification that a worker has claimed. A first one has no
// recovery and no token.
type GateZeroWork struct {
	Intake      Intake    `json:"intake"`
	RecoveryID  recoup.ID `json:"recovery_id,omitzero"`
	Attempt     int       `json:"attempt_count,omitempty"` // failed so far
	LeaseToken  recoup.ID `json:"lease_token,omitzero"`
	LeaseEndsAt time.Time `json:"lease_ends_at"`
}

// GateZeroClaimed is the answer to a [GateZeroClaim].
type GateZeroClaimed struct {
	Work []GateZeroWork `json:"work"`
}

// The verdicts of a verification.
const (
	VerdictPass = "PASS"
	VerdictFail = "FAIL"
)

// GateZeroResult is what a verification came to. Of a retry it names the recovery
// and the token of its lease.
type GateZeroResult struct {
	IntakeID   recoup.ID `json:"intake_id,omitzero"`
	RecoveryID recoup.ID `json:"recovery_id,omitzero"`
	LeaseToken recoup.ID `json:"lease_token,omitzero"`
	Worker     string    `json:"worker,omitempty" maxLength:"200"`
	Verdict    string    `json:"verdict" enum:"PASS,FAIL"`
	Reason     string    `json:"reason,omitempty" maxLength:"64" doc:"of a FAIL: one of the policy's"`
}

// GateZeroResults are the results of many verifications.
type GateZeroResults struct {
	Results []GateZeroResult `json:"results" minItems:"1" maxItems:"1000"`
}

// GateZeroRecorded is what became of an intake.
type GateZeroRecorded struct {
	Intake      Intake    `json:"intake"`
	Recovery    *Recovery `json:"recovery,omitempty"`
	NewIntakeID recoup.ID `json:"new_intake_id,omitzero"` // the intake that took over
}

// GateZeroRecordedBatch has an answer to each result, in their order.
type GateZeroRecordedBatch struct {
	Items []Item[GateZeroRecorded] `json:"items"`
}

// Result is the result of this work.
func (w *GateZeroWork) Result(verdict, reason string) GateZeroResult {
	return GateZeroResult{IntakeID: w.Intake.ID, RecoveryID: w.RecoveryID, LeaseToken: w.LeaseToken, Verdict: verdict, Reason: reason}
}
