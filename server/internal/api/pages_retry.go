package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// altitude is how a code is retried by one of those who retry.
type altitude struct{ Who, How string }

// altitudes says how a code is retried: by the caller of a request, by a stage, as a
// record, and at Gate Zero if it is one of its reasons.
func (a *API) altitudes(def *fault.Definition) []altitude {
	class := def.Effective(true)
	if class == recoup.ClassFatal {
		return []altitude{
			{"Request", "Never: correct what is wrong first."},
			{"Stage", "Never: the work becomes a dead letter at once."},
			{"Record", "Never by itself: it is parked for a person at once."},
		}
	}
	p := a.Engine.Policies.Current()
	list := []altitude{
		{"Request", requestRetries(def.RetryPolicy(true))},
		{"Stage", fmt.Sprintf("%d times: %s; Retry-After counts up to %s.",
			p.Stage.MaxRetries, policy.DescribeSchedule(p.Stage.Schedule), policy.FormatDuration(p.Stage.Ceiling))},
		{"Record", recordRetries(p, def.Category, class)},
	}
	if isReason(&p.Gate, def.Code) {
		list = append(list, altitude{"Gate Zero", "After " + steps(p.Gate.Schedule, p.Gate.MaxAttempts, 0) + ", then it is exhausted."})
	}
	return list
}

func requestRetries(p fault.RetryPolicy) string {
	if p.MaxAttempts == 0 {
		return "Never, by the policy."
	}
	return fmt.Sprintf("%d times: first after %s, each wait %v times the last, none above %s; never before retry_after.",
		p.MaxAttempts, policy.FormatDuration(p.BaseDelay()), p.BackoffMultiplier, policy.FormatDuration(p.MaxDelay()))
}

func recordRetries(p *policy.Policy, category recoup.Category, class recoup.Class) string {
	i := slices.IndexFunc(p.Categories, func(r policy.CategoryRule) bool { return r.Category == category })
	if i < 0 || p.Categories[i].Schedule.Kind == retry.None {
		return "Once, by hand: it is parked for a person first."
	}
	rule := &p.Categories[i]
	return fmt.Sprintf("After %s, within %s, then it is parked.", steps(rule.Schedule, rule.MaxRetries, p.Floor(class)), policy.FormatDuration(rule.Window))
}

func isReason(g *policy.GateZero, code recoup.Code) bool {
	return slices.ContainsFunc(g.Reasons, func(r policy.Description) bool { return r.Name == string(code) })
}

// steps lists the waits of a schedule.
func steps(s retry.Schedule, n int, floor time.Duration) string {
	waits := make([]string, n)
	for i := range waits {
		waits[i] = policy.FormatDuration(max(s.Delay(i+1, nil), floor))
	}
	return strings.Join(waits, ", ")
}
