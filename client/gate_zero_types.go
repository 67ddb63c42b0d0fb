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

// IntakeCreated is the answer to a candidate that was sent alone.
type IntakeCreated struct {
	Intake  recoup.Intake `json:"intake"`
	Created bool          `json:"created"` // false: it was there already
}

// IntakePage is a page of intakes, newest first.
type IntakePage struct {
	Intakes []recoup.Intake `json:"intakes"`
	Next    string          `json:"next,omitempty"`
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
	Ignored  []string     `json:"ignored_columns,omitempty"` // of a CSV file: unknown columns
}

// RefusedRow is a row that was left out. Failure decodes into a fault.Error.
type RefusedRow struct {
	Line    int             `json:"line"` // where the row begins, from 1; of a list its place
	Failure json.RawMessage `json:"failure"`
}

// IntakeBatchPage is a page of batches, newest first.
type IntakeBatchPage struct {
	Batches []recoup.IntakeBatch `json:"batches"`
	Next    string               `json:"next,omitempty"`
}

// NewIntakeBatch asks for a batch.
type NewIntakeBatch struct {
	ID string `json:"batch_id" maxLength:"200"`
}

// BatchAct is the body of an act on a batch.
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

// RecoveryPage is a page of recoveries.
type RecoveryPage struct {
	Recoveries []recoup.Recovery `json:"recoveries"`
	Next       string            `json:"next,omitempty"`
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

// IntakeStory is one intake from its first result to its end.
type IntakeStory struct {
	Intake   recoup.Intake        `json:"intake"`
	Recovery *recoup.Recovery     `json:"recovery,omitempty"`
	Timeline []recoup.IntakeEvent `json:"timeline"`
}

// BatchStory is a batch and what was done to it as a whole.
type BatchStory struct {
	Batch    recoup.IntakeBatch   `json:"batch"`
	Timeline []recoup.IntakeEvent `json:"timeline"`
}

// GateZeroClaimed is the answer to a [recoup.GateZeroClaim].
type GateZeroClaimed struct {
	Work []recoup.GateZeroWork `json:"work"`
}

// GateZeroResults are the results of many verifications.
type GateZeroResults struct {
	Results []recoup.GateZeroResult `json:"results" minItems:"1" maxItems:"1000"`
}

// GateZeroRecorded is the answer to a result: what became of the intake.
type GateZeroRecorded struct {
	Intake      recoup.Intake    `json:"intake"`
	Recovery    *recoup.Recovery `json:"recovery,omitempty"`
	NewIntakeID recoup.ID        `json:"new_intake_id,omitzero"` // the intake that took over
}

// GateZeroRecordedBatch has an answer to each result, in their order.
type GateZeroRecordedBatch struct {
	Items []Item[GateZeroRecorded] `json:"items"`
}
