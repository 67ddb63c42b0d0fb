package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Moment is something that will happen to an error if nobody does anything.
type Moment struct {
	After time.Duration `json:"after"` // since the report, in nanoseconds
	What  string        `json:"what"`
}

// Outlook describes the life of an error under an answer of the policy: it fails
// every retry at once, and nobody looks at it. Moments are in the order of time.
func (p *Policy) Outlook(e Effective) []Moment {
	var o outlook
	switch e.Action {
	case recoup.ActionRetry:
		if e.Family != nil {
			o.add(0, "%s if it is failure %d of %s for its entity", heldAtOnce(e.Table), e.Family.After, e.Family.Name)
		}
		if e.NotifyOwner {
			o.notParked(e)
		}
		if at, reason := o.retries(e); reason != "" {
			o.parked(p, e, at, reason)
		}
	case recoup.ActionPark:
		o.parked(p, e, 0, e.ParkReason)
	default:
		o.add(0, "kept, not retried and not parked")
		if e.NotifyOwner {
			o.notParked(e)
		}
	}
	if e.Page {
		o.add(0, "%s is paged", e.Table.Owner(recoup.MaxTier))
	}
	return o.end(p, e)
}

// outlook collects moments.
type outlook []Moment

func (o *outlook) add(after time.Duration, format string, args ...any) {
	*o = append(*o, Moment{after, fmt.Sprintf(format, args...)})
}

// notParked adds the notice that its owner gets because the table does not allow PARK.
func (o *outlook) notParked(e Effective) {
	o.add(0, "%s is notified that it should have been parked", e.Table.Owner(1))
}

// heldAtOnce says how a table keeps an error that is not retried any more.
func heldAtOnce(t *Table) string {
	if t.Allows(recoup.ActionPark) {
		return "parked at once"
	}
	return "kept as ARCHIVE at once, and " + t.Owner(1) + " is notified,"
}

// retries adds the retries that fit the window, and returns when and why the
// error is parked after them; no reason if it expires before.
func (o *outlook) retries(e Effective) (at time.Duration, reason recoup.ParkReason) {
	for n := range e.MaxRetries {
		wait := max(e.Schedule.Delay(n+1, nil), e.Floor)
		switch {
		case e.Window > 0 && wait > e.Window-at:
			return at, recoup.RetryWindowClosed
		case wait > e.TTL-at:
			return at, ""
		}
		at += wait
		o.add(at, "retry %d of %d is due", n+1, e.MaxRetries)
	}
	return at, recoup.MaxRetriesExceeded
}

// parked adds the rungs of the ladder from the moment of parking on.
func (o *outlook) parked(p *Policy, e Effective, at time.Duration, reason recoup.ParkReason) {
	if !e.Table.Allows(recoup.ActionPark) {
		o.add(at, "no longer retried (%s): kept as ARCHIVE, %s is notified", reason, e.Table.Owner(1))
		return
	}
	o.add(at, "parked with %s", reason)
	for _, r := range p.Ladder {
		o.add(at+r.After, "tier %d: %s owns it and reviews it within %s", r.Tier, e.Table.Owner(r.Tier), FormatDuration(r.ReviewWithin))
	}
}

// end adds how the error ends and drops what would come after that.
func (o outlook) end(p *Policy, e Effective) []Moment {
	if e.TTL == 0 {
		o.add(0, "never expires")
		return o.sorted()
	}
	kept := o[:0]
	for _, m := range o {
		if m.After < e.TTL {
			kept = append(kept, m)
		}
	}
	if e.Blocks {
		kept.add(max(e.TTL-p.ExpiryNotice, 0), "its owner is notified that it will expire and unblock its entity")
	}
	kept.add(e.TTL, "expires: moved to %s and kept there for %s", e.Table.Archive, FormatDuration(e.Table.Retention))
	switch e.Table.Source.AtEnd {
	case wire.SourceMove:
		kept.add(e.TTL, "its row, if it is of an adopted table, moves with it")
	case wire.SourceDelete:
		kept.add(e.TTL+e.Table.Retention, "the archive deletes it, and its row, if it is of an adopted table")
	}
	return kept.sorted()
}

func (o outlook) sorted() []Moment {
	slices.SortStableFunc(o, func(a, b Moment) int { return cmp.Compare(a.After, b.After) })
	return o
}
