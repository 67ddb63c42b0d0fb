// Package signature signs what a node sends to addresses of others, and checks such
// signatures. Both sides import it: whoever sends, and the public client, which
// offers the check to those who receive. It knows nothing of what is sent.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Header is where a request has its signature.
const Header = "Recoup-Signature"

var (
	// ErrInvalid is the error of a signature that is missing, is none, or was not
	// made of this body with this secret.
	ErrInvalid = errors.New("the signature is not valid")

	// ErrStale is the error of a signature that is valid and too old, or of a time
	// to come: somebody may be sending again what he has overheard.
	ErrStale = errors.New("the signature is too old, or its time is still to come")
)

// Sign returns the signature of a body: t=<seconds>,v1=<HMAC-SHA256 over
// "<seconds>.<body>" in hexadecimal digits>.
func Sign(secret []byte, at int64, body []byte) string {
	t := strconv.FormatInt(at, 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac(secret, t, body))
}

func mac(secret []byte, t string, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(t + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks a signature that [Sign] has made, in constant time, and that its time
// is no further from now than tolerance. The time is looked at only once the
// signature is known to be valid. No error repeats anything of what it was given.
func Verify(secret []byte, header string, body []byte, now time.Time, tolerance time.Duration) error {
	t, rest, found := strings.Cut(header, ",")
	t, timed := strings.CutPrefix(t, "t=")
	digits, versioned := strings.CutPrefix(rest, "v1=")
	given, err := hex.DecodeString(digits)
	if !found || !timed || !versioned || err != nil || !hmac.Equal(given, mac(secret, t, body)) {
		return ErrInvalid
	}
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrInvalid
	}
	if now.Sub(time.Unix(at, 0)).Abs() > tolerance {
		return ErrStale
	}
	return nil
}
