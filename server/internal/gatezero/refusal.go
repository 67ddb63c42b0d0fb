package gatezero

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup"
)

// The codes a refusal carries.
const (
	InvalidTransition recoup.Code = "INVALID_TRANSITION"
	LeaseLost         recoup.Code = "LEASE_LOST"
	BatchKilled       recoup.Code = "BATCH_KILLED"
	ValidationError   recoup.Code = "VALIDATION_ERROR"
)

// Refusal is the answer to an input that changes nothing.
type Refusal struct {
	Code   recoup.Code
	Input  Kind
	Status recoup.RecoveryStatus // empty: there is no recovery
	Reason string
}

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: cannot %s", r.Code, r.Input)
	if r.Status != none {
		fmt.Fprintf(&b, " a recovery that is %s", r.Status)
	}
	if r.Reason != "" {
		b.WriteString(": " + r.Reason)
	}
	return b.String()
}

func (s *step) refuse(code recoup.Code, reason string) error {
	return &Refusal{Code: code, Input: s.kind, Status: s.Recovery.Status, Reason: reason}
}
