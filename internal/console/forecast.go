package console

import (
	"fmt"

	"recoup/client"
)

// forecastRow says of a queue when it is empty, and from what figures that follows.
type forecastRow struct {
	Name, Verdict, Why string
	Bad                bool
}

// forecastRows are the queues in which something waits, those first that will not drain.
func forecastRows(f *client.Forecast) []forecastRow {
	var bad, good []forecastRow
	for i := range f.Queues {
		q := &f.Queues[i]
		if q.Verdict == "empty" || q.Due == 0 && q.Waiting == 0 {
			continue
		}
		row := forecastRow{Name: q.Name()}
		row.Why = fmt.Sprintf("%s due, %s waiting · %s a minute done · %s a minute new", count(q.Due), count(q.Waiting), rate(q.DonePerMinute), rate(q.NewPerMinute))
		row.Verdict, row.Bad = verdict(f, q)
		if row.Bad {
			bad = append(bad, row)
		} else {
			good = append(good, row)
		}
	}
	return append(bad, good...)
}

// verdict is what can be said of a queue, in words.
func verdict(f *client.Forecast, q *client.QueueForecast) (words string, bad bool) {
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
