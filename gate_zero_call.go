package recoup

import "time"

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
