package client

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/signature"
)

// Receivers are the addresses that a node pushes work to.
type Receivers struct {
	Node      string            `json:"node" doc:"the node that tells it: each has its own view"`
	Receivers []recoup.Receiver `json:"receivers" doc:"all of them"`
}

// Receivers returns the state of the receivers of the node that answers.
func (c *Client) Receivers(ctx context.Context, options ...CallOption) (Receivers, error) {
	return get[Receivers](ctx, c, "/v1/receivers", nil, options)
}

const (
	// SignatureHeader is the header with the signature of a delivery or a webhook
	// message.
	SignatureHeader = signature.Header

	// SignatureTolerance is how old a signature may be by default.
	SignatureTolerance = 5 * time.Minute
)

// What [VerifySignature] returns.
var (
	ErrSignature      = signature.ErrInvalid // it is missing, or not of this body and secret
	ErrStaleSignature = signature.ErrStale   // it is too old, or from the future
)

// VerifySignature checks that a delivery was signed with the secret, no longer than
// tolerance ago; zero stands for [SignatureTolerance]. The body is that of the request,
// byte for byte, and the header its [SignatureHeader]. It returns [ErrSignature] or
// [ErrStaleSignature], and compares in constant time.
func VerifySignature(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	if tolerance == 0 {
		tolerance = SignatureTolerance
	}
	return signature.Verify([]byte(secret), header, body, now, tolerance)
}
