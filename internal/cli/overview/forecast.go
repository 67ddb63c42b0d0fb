package overview

import (
	"context"
	"fmt"
	"slices"
	"time"

	"recoup/client"
	"recoup/internal/cli/command"
)

// pace is when the queues are empty at their present pace. One that will not be needs a
// person, as far as something is due there.
func pace(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "queues", State: "empty"}
	f, err := s.Forecast(ctx)
	if err != nil {
		return l, err
	}
	waiting := slices.DeleteFunc(f.Queues, func(q client.QueueForecast) bool { return q.Waiting == 0 && q.Due == 0 })
	grows := slices.DeleteFunc(slices.Clone(waiting), func(q client.QueueForecast) bool { return q.Verdict != "will_not_drain" })
	switch {
	case len(waiting) == 0:
	case len(grows) > 0:
		l.State = fmt.Sprintf("%d will not drain", len(grows))
		l.Needs = slices.ContainsFunc(grows, func(q client.QueueForecast) bool { return q.Due > 0 })
		l.Detail = some(grows, func(q *client.QueueForecast) string {
			return fmt.Sprintf("%s: %d wait, %.1f come and %.1f leave a minute", q.Name(), q.Waiting, q.NewPerMinute, q.DonePerMinute)
		})
	default:
		l.State, l.Detail = outlook(f.At, waiting)
	}
	return l, nil
}

// outlook is when the last of queues is empty that do not grow.
func outlook(now time.Time, waiting []client.QueueForecast) (state, detail string) {
	var last time.Time
	var unsure []client.QueueForecast
	for i := range waiting {
		if q := &waiting[i]; q.EmptyBy.After(last) {
			last = q.EmptyBy
		} else if q.EmptyBy.IsZero() {
			unsure = append(unsure, *q)
		}
	}
	if len(unsure) > 0 {
		return fmt.Sprintf("%d waiting", len(waiting)), "too soon to tell: " + some(unsure, func(q *client.QueueForecast) string { return fmt.Sprintf("%s with %d", q.Name(), q.Waiting) })
	}
	return "clear in " + command.Age(last.Sub(now)), some(waiting, func(q *client.QueueForecast) string { return fmt.Sprintf("%s with %d", q.Name(), q.Waiting) })
}
