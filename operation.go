package recoup

import "time"

// Act is what a person does with an error, or with many. Reason is required for park,
// unpark, resolve, escalate and archive.
type Act struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; it stays in the history"`
	To     string `json:"to,omitempty" doc:"assign: the new owner"`
	Tier   int    `json:"tier,omitempty" minimum:"0" maximum:"3" doc:"escalate: the tier; default: the next"`
}

// Operation is a recorded bulk act: one act on a set of errors that is frozen before
// anybody confirms it, carried out by the scheduler, with a result for each.
type Operation struct {
	ID          ID             `json:"operation_id" doc:"names the operation"`
	State       OperationState `json:"state" doc:"COLLECTING, FROZEN, RUNNING, PAUSED, CANCELLED or DONE"`
	Act         string         `json:"act" doc:"what is done with each error: park, unpark, resolve, escalate, archive, assign or review"`
	Input       Act            `json:"input,omitzero" doc:"what is said with it"`
	Filter      JSON           `json:"filter" doc:"what selected its members when they were frozen; it is not asked again"`
	Hub         string         `json:"hub,omitempty" doc:"of all its members; left out: they are of several hubs"`
	Members     int            `json:"members" doc:"how many errors it has"`
	Applied     int            `json:"applied" doc:"how many the act was applied to"`
	Refused     int            `json:"refused" doc:"how many it does not apply to, or not any more"`
	CreatedAt   time.Time      `json:"created_at" doc:"when it was asked for"`
	CreatedBy   string         `json:"created_by" doc:"who asked for it"`
	CreatedKey  ID             `json:"-"` // the API key that was used; zero: none was needed
	ConfirmedAt time.Time      `json:"confirmed_at,omitzero" doc:"when it was confirmed"`
	ConfirmedBy string         `json:"confirmed_by,omitempty" doc:"who confirmed it: in whose name it is done"`
	StateAt     time.Time      `json:"state_at" doc:"since when it is in this state"`
	StateBy     string         `json:"state_by" doc:"who put it there"`
	Why         string         `json:"state_reason,omitempty" doc:"why it is in this state"`
	EndedAt     time.Time      `json:"ended_at,omitzero" doc:"when it ended"`
	ExpiresAt   time.Time      `json:"expires_at,omitzero" doc:"until when it can be confirmed; once it has ended, until when it is kept"`
}

// Pending is how many of its members have no result.
func (o *Operation) Pending() int { return o.Members - o.Applied - o.Refused }

// Over reports whether the operation has ended.
func (o *Operation) Over() bool { return !o.EndedAt.IsZero() }

// OperationState is where an operation stands.
type OperationState string

// The states of an operation. The last two are final.
const (
	OperationCollecting OperationState = "COLLECTING" // its members are being written down
	OperationFrozen     OperationState = "FROZEN"     // they are fixed; it waits for its confirmation
	OperationRunning    OperationState = "RUNNING"
	OperationPaused     OperationState = "PAUSED"
	OperationCancelled  OperationState = "CANCELLED" // what had no result by then is as it was
	OperationDone       OperationState = "DONE"
)

// OperationStates returns every state.
func OperationStates() []OperationState {
	return []OperationState{OperationCollecting, OperationFrozen, OperationRunning, OperationPaused, OperationCancelled, OperationDone}
}

// OperationResult is what became of a member of an operation.
type OperationResult string

// The results. All but the first are final.
const (
	ResultPending OperationResult = "PENDING"
	ResultApplied OperationResult = "APPLIED"
	ResultRefused OperationResult = "REFUSED"
)

// OperationItem is a member of an operation and its result.
type OperationItem struct {
	OperationID ID              `json:"operation_id" doc:"the operation"`
	Position    int             `json:"position" doc:"its place in the order of the operation, from 0"`
	ErrorID     ID              `json:"error_id" doc:"the error"`
	SeenAt      time.Time       `json:"seen_at" doc:"when it had changed last as it was frozen; one that has changed since is refused"`
	Result      OperationResult `json:"result" doc:"PENDING, APPLIED or REFUSED"`
	Code        Code            `json:"code,omitempty" doc:"of a refusal"`
	Reason      string          `json:"reason,omitempty" doc:"of a refusal: why"`
	EndedAt     time.Time       `json:"ended_at,omitzero" doc:"when it got its result"`
}
