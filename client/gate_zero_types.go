package client

import (
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup"
)

// NewIntake is a company candidate for Gate Zero. With an id or a key it may be
// sent again.
type NewIntake struct {
	ID          recoup.ID `json:"intake_id,omitzero" doc:"an id of your own, by which it may be sent again; default: one is made"`
	ImportKey   string    `json:"import_key,omitempty" doc:"recognises it when it is imported again; instead of intake_id"`
	CompanyName string    `json:"company_name" doc:"the company's name"`
	Domain      string    `json:"domain,omitempty" doc:"its web domain, such as example.com"`
	LinkedInURL string    `json:"linkedin_url,omitempty" doc:"its page on LinkedIn"`
	State       string    `json:"state,omitempty" doc:"the state or region it is in"`
}

// IntakeLines are lines of a file of candidates.
type IntakeLines struct {
	Media     string // text/csv, with the header before the lines, or application/x-ndjson
	FirstLine int    // line of the file at which they begin, behind its header; 0: they are the file
	Data      []byte
}

// IntakeCreated is the answer to a candidate that was sent alone.
type IntakeCreated struct {
	Intake  recoup.Intake `json:"intake"`
	Created bool          `json:"created" doc:"false: it was there already"`
}

// IntakePage is a page of intakes, newest first.
type IntakePage struct {
	Intakes []recoup.Intake `json:"intakes" doc:"this page of the list"`
	Next    string          `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
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

// RefusedRow is a row that was left out. Failure decodes into a fault.Error.
type RefusedRow struct {
	Line    int             `json:"line" doc:"where the row begins, from 1; of a list its place"`
	Failure json.RawMessage `json:"failure" doc:"why, in the shape of any error"`
}

// IntakeBatchPage is a page of batches, newest first.
type IntakeBatchPage struct {
	Batches []recoup.IntakeBatch `json:"batches" doc:"this page of the list"`
	Next    string               `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NewIntakeBatch asks for a batch.
type NewIntakeBatch struct {
	ID string `json:"batch_id" maxLength:"200" doc:"a name of your own"`
}

// BatchAct is the body of an act on a batch.
type BatchAct struct {
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
	Recoveries []recoup.Recovery `json:"recoveries" doc:"this page of the list"`
	Next       string            `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// The lists of recoveries.
const (
	Eligible  = "ELIGIBLE"  // ACTIVE, and the wait is over; the longest waiting first
	Exhausted = "EXHAUSTED" // the last exhausted first
)

// RecoveryFilter selects recoveries.
type RecoveryFilter struct {
	List    string `query:"list" enum:"ELIGIBLE,EXHAUSTED" default:"ELIGIBLE" doc:"which list"`
	BatchID string `query:"batch_id" maxLength:"200" doc:"only this batch"`
}

// IntakeStory is one intake from its first result to its end.
type IntakeStory struct {
	Intake   recoup.Intake        `json:"intake"`
	Recovery *recoup.Recovery     `json:"recovery,omitempty"`
	Timeline []recoup.IntakeEvent `json:"timeline" doc:"what happened, oldest first"`
}

// BatchStory is a batch and what was done to it as a whole.
type BatchStory struct {
	Batch    recoup.IntakeBatch   `json:"batch"`
	Timeline []recoup.IntakeEvent `json:"timeline" doc:"what happened to the batch as a whole, oldest first"`
}

// GateZeroClaimed is the answer to a [recoup.GateZeroClaim].
type GateZeroClaimed struct {
	Work []recoup.GateZeroWork `json:"work" doc:"what was leased; empty: there is nothing to do"`
}

// GateZeroResults are the results of many verifications.
type GateZeroResults struct {
	Results []recoup.GateZeroResult `json:"results" minItems:"1" maxItems:"1000" doc:"the results; each succeeds or fails on its own"`
}

// GateZeroRecorded is the answer to a result: what became of the intake.
type GateZeroRecorded struct {
	Intake      recoup.Intake    `json:"intake"`
	Recovery    *recoup.Recovery `json:"recovery,omitempty"`
	NewIntakeID recoup.ID        `json:"new_intake_id,omitzero" doc:"the intake that takes over from a recovered one"`
}

// GateZeroRecordedBatch has an answer to each result, in their order.
type GateZeroRecordedBatch struct {
	Items []Item[GateZeroRecorded] `json:"items" doc:"an answer for each result, in their order"`
}
