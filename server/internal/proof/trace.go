package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Moment is one step of a counterexample.
type Moment struct {
	At   string `json:"at,omitempty"` // since the report: 48h
	What string `json:"what"`
}

// trace says how an error came to a node. Reminders move nothing and are left
// out.
func (n *node) trace() []Moment {
	var moments []Moment
	for ; n != nil; n = n.from {
		if n.what == reminded {
			continue
		}
		since := n.at.Sub(epoch).Truncate(time.Second)
		moments = append(moments, Moment{policy.FormatDuration(since), n.what + ": " + standing(&n.e)})
	}
	slices.Reverse(moments)
	return moments
}

// describe names a question as a person would report it.
func describe(q policy.Question) string {
	words := []string{string(q.Code), strings.ToLower(string(q.Category)) + "/" + string(q.Class)}
	if q.Severity != recoup.SeverityNone {
		words = append(words, string(q.Severity))
	}
	words = append(words, "in", q.Table)
	if !q.Entity {
		words = append(words, "without an entity")
	}
	return strings.Join(words, " ")
}

// enumerate writes a list as a sentence would: a, b and c.
func enumerate(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// standing says where an error stands.
func standing(e *recoup.Error) string {
	switch {
	case e.State == recoup.Archived:
		return fmt.Sprintf("%s as %s", e.State, e.ArchiveReason)
	case waits(e):
		return fmt.Sprintf("%s, tier %d", e.State, e.EscalationLevel)
	case e.State == recoup.Active:
		return fmt.Sprintf("%s, %s", e.State, e.Disposition)
	case e.State == recoup.RetryPending && e.LeaseToken.IsZero():
		return fmt.Sprintf("%s, %d of %d retries used", e.State, e.RetryCount, e.MaxRetries)
	}
	return string(e.State)
}

const reminded = "its owner is reminded"

// byClock names what the clock does.
func byClock(k lifecycle.Kind) string {
	switch k {
	case lifecycle.Expiring:
		return "its TTL is over"
	case lifecycle.Escalating:
		return "escalated by the clock"
	case lifecycle.Reminding:
		return reminded
	case lifecycle.WindowClosed:
		return "its retry window closes"
	case lifecycle.LeaseLapsed:
		return "its worker is lost"
	}
	return string(k)
}
