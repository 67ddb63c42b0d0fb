package console

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestHourChart proves that bars are to one scale, and that what is not nothing is seen.
func TestHourChart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 2, 5, 0, 0, 0, time.UTC)
	c := newHourChart(wire.Series{Hours: []wire.HourCount{{Hour: at, Reported: 1000, Parked: 500}, {Hour: at.Add(time.Hour), Reported: 1}, {Hour: at.Add(2 * time.Hour)}}})
	if c.Reported != 1001 || c.Parked != 500 || c.Most != 1000 || len(c.Bars) != 3 {
		t.Fatalf("the chart is %+v", c)
	}
	for i, want := range []struct {
		reported, parked int
		label            string
	}{{100, 51, ""}, {2, 0, "06:00"}, {0, 0, ""}} {
		b := c.Bars[i]
		if b.ReportedHeight != want.reported || b.ParkedHeight != want.parked || b.ReportedY != 100-want.reported || b.ParkedY != 100-want.parked || b.Label() != want.label || b.X != 30*i {
			t.Errorf("hour %d is %+v %s, want %+v", i, b, b.Label(), want)
		}
	}
	if got := c.Bars[0].Span(); got != "Mon 05:00 to 06:00 UTC" {
		t.Errorf("the first hour is %s", got)
	}
	if empty := newHourChart(wire.Series{Hours: make([]wire.HourCount, 2)}); empty.Bars[1].ReportedHeight != 0 {
		t.Errorf("an empty chart is %+v", empty)
	}
}

// TestLevelChart proves that the park queue is drawn to one scale with the limits of rules, and
// that a limit far above does not flatten it.
func TestLevelChart(t *testing.T) {
	t.Parallel()
	hours := []wire.HourCount{{InPark: 50}, {InPark: 100}, {InPark: 25}}
	near := wire.Threshold{Rule: "parked-errors", Figure: "in_park", Compare: ">", Value: 200}
	c := newLevelChart(wire.Series{Hours: hours, Thresholds: []wire.Threshold{near, {Rule: "far", Figure: "in_park", Compare: ">=", Value: 1000}, {Rule: "other", Figure: "reported"}}})
	if c.Points != "0,46 30,46 30,31 60,31 60,53 90,53" || c.Now != 25 || c.Most != 100 {
		t.Errorf("the line is %+v", c)
	}
	if len(c.Limits) != 2 || c.Limits[0].Y != 2 || !c.Limits[0].Drawn || c.Limits[1].Drawn || c.Top != 200 || c.Limits[0].Label() != "parked-errors > 200" {
		t.Errorf("the limits are %+v", c.Limits)
	}
	if c := newLevelChart(wire.Series{Hours: hours}); c.Points != "0,31 30,31 30,2 60,2 60,46 90,46" || c.Limits != nil {
		t.Errorf("without a rule the line is %+v", c)
	}
}
