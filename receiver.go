package recoup

import "time"

// The states of a receiver.
const (
	ReceiverUp         = "up"
	ReceiverBackingOff = "backing_off"
)

// Receiver is the state of an address that a node pushes work to. The counts are those
// of this node since it started. The address and its secret are not included.
type Receiver struct {
	Name           string           `json:"name"`
	Kind           string           `json:"kind" enum:"work,gate_zero"`
	Lanes          []Lane           `json:"lanes,omitempty" doc:"the work that it is sent"`
	BatchID        string           `json:"batch_id,omitempty" doc:"the only batch whose companies it verifies"`
	Concurrency    int              `json:"concurrency"`
	TimeoutSeconds float64          `json:"timeout_seconds"`
	State          string           `json:"state" enum:"up,backing_off"`
	Until          time.Time        `json:"until,omitzero" doc:"it is left alone until then"`
	Failures       int              `json:"failures,omitempty" doc:"in a row"`
	Misconfigured  bool             `json:"misconfigured,omitempty" doc:"time alone will not mend it"`
	LastError      string           `json:"last_error,omitempty" doc:"also when it is over"`
	LastErrorAt    time.Time        `json:"last_error_at,omitzero"`
	InFlight       int              `json:"in_flight" doc:"deliveries on their way"`
	Deliveries     map[string]int64 `json:"deliveries" doc:"by what they came to"`
}
