package client

import (
	"time"

	"github.com/recoup-dev/recoup/internal/signature"
)

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
