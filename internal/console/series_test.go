package console

import (
	"testing"
	"time"

	"recoup/client"
)

// TestHourChart proves that bars are to one scale, and that what is not nothing is seen.
func TestHourChart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 2, 5, 0, 0, 0, time.UTC)
	c := newHourChart(client.Series{Hours: []client.HourCount{{Hour: at, Reported: 1000, Parked: 500}, {Hour: at.Add(time.Hour), Reported: 1}, {Hour: at.Add(2 * time.Hour)}}})
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
	if empty := newHourChart(client.Series{Hours: make([]client.HourCount, 2)}); empty.Bars[1].ReportedHeight != 0 {
		t.Errorf("an empty chart is %+v", empty)
	}
}
