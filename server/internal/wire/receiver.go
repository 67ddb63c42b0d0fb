package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// The states of a receiver.
const (
	ReceiverUp         = "up"
	ReceiverBackingOff = "backing_off"
)

// Receiver is the state of an address that a node pushes work to. The counts are those
// of this node since it started. The address and its secret are not included.
type Receiver struct {
	Name           string           `json:"name" doc:"what the configuration calls it"`
	Kind           string           `json:"kind" enum:"work,gate_zero" doc:"what it is sent: staged work, or verifications of Gate Zero"`
	Lanes          []recoup.Lane    `json:"lanes,omitempty" doc:"the work that it is sent"`
	BatchID        string           `json:"batch_id,omitempty" doc:"the only batch whose companies it verifies"`
	Concurrency    int              `json:"concurrency" doc:"how many deliveries may be on their way"`
	TimeoutSeconds float64          `json:"timeout_seconds" doc:"how long an answer may take"`
	State          string           `json:"state" enum:"up,backing_off" doc:"backing_off: it is left alone for a while after failures"`
	Until          time.Time        `json:"until,omitzero" doc:"it is left alone until then"`
	Failures       int              `json:"failures,omitempty" doc:"in a row"`
	Misconfigured  bool             `json:"misconfigured,omitempty" doc:"time alone will not mend it"`
	LastError      string           `json:"last_error,omitempty" doc:"also when it is over"`
	LastErrorAt    time.Time        `json:"last_error_at,omitzero" doc:"when that was"`
	InFlight       int              `json:"in_flight" doc:"deliveries on their way"`
	Deliveries     map[string]int64 `json:"deliveries" doc:"by what they came to"`
}

// Receivers are the addresses that a node pushes work to.
type Receivers struct {
	Node      string     `json:"node" doc:"the node that tells it: each has its own view"`
	Receivers []Receiver `json:"receivers" doc:"all of them"`
}
