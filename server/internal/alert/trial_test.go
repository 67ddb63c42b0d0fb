package alert_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// A trial gives each rule its own series, gaps included, and silences from their
// beginning to their end.
func TestTrial(t *testing.T) {
	t.Parallel()
	point := func(v float64) alert.Point { return alert.Point{Value: v, Samples: 100} }
	trial := alert.Trial{
		Policy: ruled(level("one", func(a *policy.Alert) { a.Hub, a.Repeat = dolHub, time.Minute })), Step: time.Minute,
		Series: []alert.Series{
			{Metric: "parked_errors", Scope: dolHub, Points: []alert.Point{point(11), point(11), {Missing: true}, point(12)}},
			{Metric: "parked_errors", Scope: peopleHub, Points: []alert.Point{point(11)}}, // of which the rule knows nothing
			{Metric: "parked_errors", Scope: dolHub, Window: time.Hour, Points: []alert.Point{point(99)}},
		},
		Silences: []alert.Hush{{Rule: "one", From: 4 * time.Minute, Until: 6 * time.Minute}},
	}
	var got []string
	if err := trial.Run(6*time.Minute, func(s alert.Scene) {
		line := fmt.Sprintf("%s: %d open, notified", s.At, len(s.Open))
		for _, h := range s.Notified {
			line += " " + string(h.Kind)
		}
		got = append(got, line)
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0s: 1 open, notified ALERT", "1m0s: 1 open, notified ALERT", "2m0s: 0 open, notified ALERT_RESOLVED", "3m0s: 1 open, notified ALERT",
		"4m0s: 1 open, notified", "5m0s: 1 open, notified", "6m0s: 1 open, notified ALERT",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
