package recoup

// NewWorkBatch is many pieces of work; each succeeds or fails on its own.
type NewWorkBatch struct {
	Work []NewWorkItem `json:"work" minItems:"1" maxItems:"1000" doc:"the pieces of work; each succeeds or fails on its own"`
}

// WorkBatch answers a [NewWorkBatch], in its order.
type WorkBatch struct {
	Items []Item[WorkItem] `json:"items" doc:"an answer for each, in their order"`
}

// WorkClaimed is what a claim leased.
type WorkClaimed struct {
	Work []ClaimedWork `json:"work" doc:"what was leased, each with its lease_token; empty: there is none"`
}

// OutcomeReleased is the outcome of work that its worker gives back unfinished. It does not
// count as a failure.
const OutcomeReleased = "release"

// WorkResultBatch is many results; each succeeds or fails on its own.
type WorkResultBatch struct {
	Results []WorkResult `json:"results" minItems:"1" maxItems:"1000" doc:"the results; each succeeds or fails on its own"`
}

// WorkDoneBatch answers a [WorkResultBatch], in its order.
type WorkDoneBatch struct {
	Items []Item[WorkDone] `json:"items" doc:"an answer for each result, in their order"`
}

// WorkLease names work that a worker holds. Work that is not in the queue has no
// token.
type WorkLease struct {
	LeaseToken ID `json:"lease_token,omitzero" doc:"of the claim"`
}

// NewCheckpoint is the output of a finished stage.
type NewCheckpoint struct {
	LeaseToken ID     `json:"lease_token,omitzero" doc:"of work that was claimed"`
	Output     []byte `json:"output,omitempty" doc:"base64, at most 1 MiB; kept encrypted"`
}

// WorkPauses is what is paused, oldest first.
type WorkPauses struct {
	Pauses []WorkPause `json:"pauses" doc:"what is paused"`
}
