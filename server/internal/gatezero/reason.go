package gatezero

import (
	"slices"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// APIUnavailable is the reason of an attempt that an upstream kept from being
// made.
const APIUnavailable = "API_UNAVAILABLE"

// Inconclusive reports whether a reason says nothing about the company: the
// attempt counts (spec 004, 6), but what it was about was never looked at. Lists
// and metrics tell the two apart.
func Inconclusive(reason string) bool { return reason == Timeout || reason == APIUnavailable }

// ReasonClass names what a reason is about: the company, or the way to it.
func ReasonClass(reason string) string {
	if Inconclusive(reason) {
		return "inconclusive"
	}
	return "company"
}

// known reports whether the policy has a reason.
func known(gate policy.GateZero, reason string) bool {
	return slices.ContainsFunc(gate.Reasons, func(d policy.Description) bool { return d.Name == reason })
}
