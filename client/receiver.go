package client

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/signature"
)

// Receivers are the addresses that a node delivers work to.
type Receivers struct {
	Node      string            `json:"node" doc:"the node that tells it: each has its own view"`
	Receivers []recoup.Receiver `json:"receivers"`
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
