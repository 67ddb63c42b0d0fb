// Package lease is how workers come by what they work on: what a claim may ask for, how
// claims wait until there is something, and who claims ([Heartbeats]). Retries, staged work and
// slices share it.
// A lease itself is a [recoup.Lease], and its fence is [recoup.Lease.HeldBy]; what a lost
// one means, each of their state machines says.
package lease

import (
	"cmp"
	"time"

	"github.com/recoup-dev/recoup/server/internal/check"
)

// The bounds of a claim.
const (
	MaxClaim = 1000
	MaxWait  = 60 * time.Second

	defaultLimit = 10
)

// Limit is how many a claim may get that asks for n: without a number, the default.
func Limit(n int) int { return cmp.Or(n, defaultLimit) }

// Seconds is a time that callers give in seconds. It is bounded, so that no number of
// them overflows.
func Seconds(n int) time.Duration {
	const year = 365 * 24 * 3600
	return time.Duration(min(max(n, -1), year)) * time.Second
}

// CheckClaim says what is wrong with what every claim asks for; its times are in seconds.
func CheckClaim(f *check.Fields, worker string, limit, lease, wait int) {
	f.RequiredIdentifier("worker", worker)
	if limit < 0 || limit > MaxClaim {
		f.Addf("limit", "range", "limit must be between 1 and %d", MaxClaim)
	}
	CheckLength(f, lease)
	if wait < 0 || Seconds(wait) > MaxWait {
		f.Addf("wait_seconds", "range", "wait_seconds must be between 0 and %d", int(MaxWait.Seconds()))
	}
}

// CheckLength says what is wrong with how long a lease is to last, in seconds.
func CheckLength(f *check.Fields, lease int) {
	if lease < 0 {
		f.Addf("lease_seconds", "minimum", "lease_seconds must not be negative")
	}
}

// CheckToken says what is wrong with the token of a result.
func CheckToken(f *check.Fields, there bool) {
	if !there {
		f.Addf("lease_token", "required", "lease_token is required: the claim returned it")
	}
}
