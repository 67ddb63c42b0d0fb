package api

import (
	"fmt"
	"strings"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/policy"
	"recoup/retry"
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
	p, stage := def.RetryPolicy(true), retry.Stage()
	list := []altitude{
		{"Request", fmt.Sprintf("%d times: first after %s, each wait %v times the last, none above %s; never before retry_after.",
			p.MaxAttempts, policy.FormatDuration(p.BaseDelay()), p.BackoffMultiplier, policy.FormatDuration(p.MaxDelay()))},
		{"Stage", fmt.Sprintf("%d times: at random within %s, %v times as much before each next, at most %s; Retry-After counts up to %s.",
			stage.MaxRetries, policy.FormatDuration(stage.Schedule.Base), stage.Schedule.Multiplier, policy.FormatDuration(stage.Schedule.Cap), policy.FormatDuration(stage.Ceiling))},
		{"Record", a.recordRetries(def.Category, class)},
	}
	if strings.HasPrefix(def.Origin, "spec 004") {
		list = append(list, altitude{"Gate Zero", "After " + steps(retry.Gate(), 0) + ", then it is exhausted."})
	}
	return list
}

func (a *API) recordRetries(category recoup.Category, class recoup.Class) string {
	p := retry.Record(category)
	if p.Schedule.Kind == retry.None {
		return "Once, by hand: it is parked for a person first."
	}
	return fmt.Sprintf("After %s, within %s, then it is parked.", steps(p, a.Engine.Policies.Current().Floor(class)), policy.FormatDuration(p.Window))
}

// steps lists the waits of a schedule.
func steps(p retry.Policy, floor time.Duration) string {
	waits := make([]string, p.MaxRetries)
	for i := range waits {
		waits[i] = policy.FormatDuration(max(p.Schedule.Delay(i+1, nil), floor))
	}
	return strings.Join(waits, ", ")
}
