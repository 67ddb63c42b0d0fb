package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// forecast asks once for what several lines need.
func (r *report) forecast(ctx context.Context, s *command.Session) (*wire.Forecast, error) {
	if r.outlook == nil {
		f, err := admin.New(s.Client).System.Forecast(ctx)
		if err != nil {
			return nil, err
		}
		r.outlook = &f
	}
	return r.outlook, nil
}

// pace is when the queues are empty at their present pace. One that will not be needs a
// person, as far as something is due there.
func pace(ctx context.Context, s *command.Session, r *report) (line, error) {
	l := line{What: "queues", State: "empty"}
	f, err := r.forecast(ctx, s)
	if err != nil {
		return l, err
	}
	waiting := slices.DeleteFunc(slices.Clone(f.Queues), func(q wire.QueueForecast) bool { return q.Waiting == 0 && q.Due == 0 })
	grows := slices.DeleteFunc(slices.Clone(waiting), func(q wire.QueueForecast) bool { return q.Verdict != "will_not_drain" })
	switch {
	case len(waiting) == 0:
	case len(grows) > 0:
		l.State = fmt.Sprintf("%d will not drain", len(grows))
		l.Needs = slices.ContainsFunc(grows, func(q wire.QueueForecast) bool { return q.Due > 0 })
		l.Detail = some(grows, func(q *wire.QueueForecast) string {
			return fmt.Sprintf("%s: %d wait, %.1f come and %.1f leave a minute", q.Name(), q.Waiting, q.NewPerMinute, q.DonePerMinute)
		})
	default:
		l.State, l.Detail = outlook(f.At, waiting)
	}
	return l, nil
}

// outlook is when the last of queues is empty that do not grow.
func outlook(now time.Time, waiting []wire.QueueForecast) (state, detail string) {
	var last time.Time
	var unsure []wire.QueueForecast
	for i := range waiting {
		if q := &waiting[i]; q.EmptyBy.After(last) {
			last = q.EmptyBy
		} else if q.EmptyBy.IsZero() {
			unsure = append(unsure, *q)
		}
	}
	if len(unsure) > 0 {
		return fmt.Sprintf("%d waiting", len(waiting)), "too soon to tell: " + some(unsure, func(q *wire.QueueForecast) string { return fmt.Sprintf("%s with %d", q.Name(), q.Waiting) })
	}
	return "clear in " + stream.Age(last.Sub(now)), some(waiting, func(q *wire.QueueForecast) string { return fmt.Sprintf("%s with %d", q.Name(), q.Waiting) })
}

// overdue is how many reviews are overdue in all park queues, and since when the first is.
func overdue(f *wire.Forecast) (n int64, since time.Time) {
	for i := range f.Park {
		p := &f.Park[i]
		if n += p.Overdue; p.Overdue > 0 && (since.IsZero() || p.OverdueSince.Before(since)) {
			since = p.OverdueSince
		}
	}
	return n, since
}

// deadlines is which deadlines of park queues will be missed at the present pace.
func deadlines(ctx context.Context, s *command.Session, r *report) (line, error) {
	l := line{What: "deadlines", State: "none", Way: "recoup errors list --parked"}
	f, err := r.forecast(ctx, s)
	if err != nil {
		return l, err
	}
	var missed, unknown []wire.ParkForecast
	certain := false
	for i := range f.Park {
		p := &f.Park[i]
		if p.Reviews.Of+p.Expiries.Of > 0 && l.State == "none" {
			l.State = "in time"
		}
		if p.Reviews.Most+p.Expiries.Most > 0 {
			missed = append(missed, *p)
			certain = certain || p.Reviews.Fewest+p.Expiries.Fewest > 0
		} else if p.Reviews.Verdict == "too_little_data" || p.Expiries.Verdict == "too_little_data" {
			unknown = append(unknown, *p)
		}
	}
	switch {
	case len(missed) > 0:
		if l.State, l.Needs = "may be missed", certain; certain {
			l.State = "will be missed"
		}
		l.Detail = some(missed, func(p *wire.ParkForecast) string { return p.Table + ": " + missing(f.At, p) })
	case len(unknown) > 0:
		l.State = "too little data"
		l.Detail = some(unknown, func(p *wire.ParkForecast) string {
			return fmt.Sprintf("%s: %s and %d expiring ahead", p.Table, command.Count(int(p.Reviews.Of), "review"), p.Expiries.Of)
		})
	}
	return l, nil
}

// missing says of a park queue what is missed.
func missing(now time.Time, p *wire.ParkForecast) string {
	var parts []string
	if d := &p.Reviews; d.Most > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s not in time, the first due in %s", span(d), command.Count(int(d.Of), "review"), stream.Age(d.First.Sub(now))))
	}
	if d := &p.Expiries; d.Most > 0 {
		parts = append(parts, fmt.Sprintf("%s of %d expire before anyone clears them, the first in %s", span(d), d.Of, stream.Age(d.First.Sub(now))))
	}
	return strings.Join(parts, "; ")
}

// span is a range of numbers.
func span(d *wire.DeadlineForecast) string {
	switch {
	case d.Fewest == d.Most:
		return fmt.Sprint(d.Most)
	case d.Fewest == 0:
		return fmt.Sprintf("up to %d", d.Most)
	}
	return fmt.Sprintf("%d to %d", d.Fewest, d.Most)
}
