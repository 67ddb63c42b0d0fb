package client

import (
	"context"
	"time"

	"recoup/internal/signature"
)

// The states of a receiver.
const (
	ReceiverUp         = "up"
	ReceiverBackingOff = "backing_off"
)

// Receivers are the addresses that a node delivers work to.
type Receivers struct {
	Node      string     `json:"node" doc:"the node that tells it: each has its own view"`
	Receivers []Receiver `json:"receivers"`
}

// Receiver is an address that a node delivers work to, and how it goes. The counts are
// those of this node since it started.
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

// Receivers tells how it goes with the receivers of the node that answers.
func (c *Client) Receivers(ctx context.Context, options ...CallOption) (Receivers, error) {
	return get[Receivers](ctx, c, "/v1/receivers", nil, options)
}

const (
	// SignatureHeader is where a delivery, or a message of a webhook, has its
	// signature.
	SignatureHeader = signature.Header

	// SignatureTolerance is how old a signature may be unless somebody says
	// otherwise.
	SignatureTolerance = 5 * time.Minute
)

// What is wrong with a signature.
var (
	ErrSignature      = signature.ErrInvalid // it is missing, or not of this body and secret
	ErrStaleSignature = signature.ErrStale   // it is too old, or of a time to come
)

// VerifySignature checks that a delivery comes from who knows the secret and was signed
// no longer than tolerance ago; zero stands for [SignatureTolerance]. The body is that
// of the request, byte for byte, and the header its [SignatureHeader]. It returns
// [ErrSignature] or [ErrStaleSignature], and takes as long for a wrong signature as for
// a right one.
func VerifySignature(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	if tolerance == 0 {
		tolerance = SignatureTolerance
	}
	return signature.Verify([]byte(secret), header, body, now, tolerance)
}
