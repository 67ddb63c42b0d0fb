package recoup

// The outcomes of a [RetryResult].
const (
	OutcomeSucceeded = "succeed"
	OutcomeFailed    = "fail"
	OutcomeExtended  = "extend"
)

// RetryClaimed answers a [RetryClaim] with the errors that it leased. Each error carries its lease_token.
type RetryClaimed struct {
	Errors []Error `json:"errors" doc:"what was leased, each with its lease_token; empty: nothing is due"`
}

// RetryResult is a worker's result for one attempt.
type RetryResult struct {
	ErrorID      ID          `json:"error_id,omitzero" doc:"the error; leave it out where the path names it"`
	LeaseToken   ID          `json:"lease_token" doc:"of the claim"`
	Outcome      string      `json:"outcome,omitempty" enum:"succeed,fail,extend" doc:"what became of it; leave it out where the path says so"`
	Code         string      `json:"code,omitempty" doc:"of fail: what went wrong this time"`
	Reason       string      `json:"reason,omitempty" maxLength:"1000" doc:"what happened, for the history"`
	RetryAfter   int         `json:"retry_after,omitempty" minimum:"0" maximum:"31536000" doc:"seconds that the failing side asked to wait"`
	Proven       []Condition `json:"proven,omitempty" doc:"what makes a conditional code worth a retry: idempotency_key, same_payload, state_changed"`
	LeaseSeconds int         `json:"lease_seconds,omitempty" minimum:"0" doc:"of extend: how long from now"`
}

// RetryResultBatch is many results; each succeeds or fails on its own.
type RetryResultBatch struct {
	Results []RetryResult `json:"results" minItems:"1" maxItems:"1000" doc:"the results; each succeeds or fails on its own"`
}

// ActResultBatch answers a [RetryResultBatch], in its order.
type ActResultBatch struct {
	Items []Item[ActResult] `json:"items" doc:"an answer for each result, in their order"`
}
