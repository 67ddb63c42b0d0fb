package recoup

import "encoding/json"

// EventBatch is many events for the ledger.
type EventBatch struct {
	Events []Event `json:"events" doc:"the events; each is checked by itself"`
}

// EventsAccepted is the answer to a batch of events. Durable says whether the accepted
// ones are stored already; if not, they wait in memory.
type EventsAccepted struct {
	Accepted int            `json:"accepted" doc:"how many were taken"`
	Durable  bool           `json:"durable" doc:"they are on disk"`
	Refused  []RefusedEvent `json:"refused,omitempty" doc:"the first hundred"`
	NRefused int            `json:"refused_count,omitempty" doc:"how many were not taken"`
	Dropped  map[string]int `json:"dropped,omitempty" doc:"what was left out of accepted events, by reason"`
}

// RefusedEvent is an event that was not accepted.
type RefusedEvent struct {
	Index   int             `json:"index" doc:"its place among those that were sent, from 0"`
	Failure json.RawMessage `json:"failure" doc:"why, in the shape of any error"`
}
