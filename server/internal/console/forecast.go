package console

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// forecastRow says of a queue when it is empty, and from what figures that follows.
type forecastRow struct {
	Name, Verdict, Why string
	Bad                bool
}

// forecastRows are the queues in which something waits, for a worker or for a person, those
// first that will not drain or miss a deadline.
func forecastRows(f *wire.Forecast) []forecastRow {
	var bad, good []forecastRow
	add := func(row forecastRow) {
		if row.Bad {
			bad = append(bad, row)
		} else {
			good = append(good, row)
		}
	}
	for i := range f.Queues {
		q := &f.Queues[i]
		if q.Verdict == "empty" || q.Due == 0 && q.Waiting == 0 {
			continue
		}
		row := forecastRow{Name: q.Name()}
		row.Why = fmt.Sprintf("%s due, %s waiting · %s a minute done · %s a minute new", count(q.Due), count(q.Waiting), rate(q.DonePerMinute), rate(q.NewPerMinute))
		row.Verdict, row.Bad = verdict(f, q)
		add(row)
	}
	for i := range f.Park {
		q := &f.Park[i]
		row := forecastRow{Name: "Park queue of " + q.Table}
		row.Why = fmt.Sprintf("%s parked · %s a day cleared · %s a day reviewed · %s a day new", count(q.Waiting), rate(q.ClearedPerDay), rate(q.ReviewedPerDay), rate(q.NewPerDay))
		row.Verdict, row.Bad = parkVerdict(f, q)
		add(row)
	}
	return append(bad, good...)
}

// parkVerdict is what can be said of the deadlines of a park queue, in words.
func parkVerdict(f *wire.Forecast, q *wire.ParkForecast) (words string, bad bool) {
	var parts []string
	for _, d := range []struct {
		*wire.DeadlineForecast
		what string
	}{{&q.Expiries, "expire first"}, {&q.Reviews, "reviews missed"}} {
		if d.Most > 0 {
			parts = append(parts, fmt.Sprintf("%s %s, from %s on", between(d.Fewest, d.Most), d.what, span(d.First.Sub(f.At))))
			bad = bad || d.Fewest > 0
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "; "), bad
	case q.Reviews.Verdict == "too_little_data" || q.Expiries.Verdict == "too_little_data":
		return "too little data", false
	}
	return "deadlines in time", false
}

// between is a range of numbers.
func between(fewest, most int64) string {
	switch {
	case fewest == most:
		return count(most)
	case fewest == 0:
		return "up to " + count(most)
	}
	return count(fewest) + " to " + count(most)
}

// verdict is what can be said of a queue, in words.
func verdict(f *wire.Forecast, q *wire.QueueForecast) (words string, bad bool) {
	switch {
	case q.Verdict == "will_not_drain":
		return "will not drain", true
	case q.Verdict == "may_not_drain":
		return "may not drain", true
	case q.Verdict == "drains" && !q.EmptyBy.IsZero():
		return fmt.Sprintf("clear in %s to %s", span(q.EmptyFrom.Sub(f.At)), span(q.EmptyBy.Sub(f.At))), false
	}
	return "too little data", false
}

// rate is a number of things in a minute.
func rate(perMinute float64) string {
	if perMinute > 0 && perMinute < 10 {
		return fmt.Sprintf("%.1f", perMinute)
	}
	return count(int64(perMinute))
}
