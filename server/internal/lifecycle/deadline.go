package lifecycle

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Deadline is a time at which something happens to an error by itself, and the
// input that makes it happen. A nil Input is a retry that falls due, which
// waits for a worker.
type Deadline struct {
	At    time.Time
	Kind  Kind
	Input Input
}

// Deadlines returns what the clock holds for an error, soonest first. Where two
// fall together the expiry comes first: an error whose TTL is over is neither
// escalated nor retried any more.
func Deadlines(p *policy.Policy, e *recoup.Error) []Deadline {
	var list []Deadline
	add := func(at time.Time, k Kind, in Input) {
		if !at.IsZero() {
			list = append(list, Deadline{At: at, Kind: k, Input: in})
		}
	}
	if e.State == recoup.Archived {
		return nil
	}
	add(expiry(p, e), Expiring, Expire{})
	if e.State == recoup.Resolved {
		add(e.ResolvedAt, Archiving, ArchiveNow{})
	}
	if e.State == recoup.RetryPending {
		if e.LeaseToken.IsZero() {
			add(e.NextRetryAt, Claimed, nil)
			add(windowClosing(e), WindowClosed, CloseWindow{})
		} else {
			add(e.LeaseEndsAt, LeaseLapsed, Lapse{})
		}
	}
	add(e.NextEscalationAt, Escalating, Escalate{})
	add(e.NextReminderAt, Reminding, Remind{})
	slices.SortStableFunc(list, func(a, b Deadline) int { return a.At.Compare(b.At) })
	return list
}

// expiry is when the error can expire: at the end of its TTL, or when the lease
// that was live then ends, but no later than the policy's grace.
func expiry(p *policy.Policy, e *recoup.Error) time.Time {
	if e.ExpiresAt.IsZero() || !e.Leased(e.ExpiresAt) {
		return e.ExpiresAt
	}
	latest := e.ExpiresAt.Add(p.Leases.ExpiryGrace)
	if e.LeaseEndsAt.Before(latest) {
		return e.LeaseEndsAt
	}
	return latest
}

// windowClosing is the first moment outside the retry window.
func windowClosing(e *recoup.Error) time.Time {
	if e.WindowEndsAt.IsZero() {
		return time.Time{}
	}
	return e.WindowEndsAt.Add(1)
}
