package console

import (
	"time"

	"recoup/client"
)

// hourChart is what was reported and parked in each hour of a day, drawn as bars beside each
// other, with the same figures as a table.
type hourChart struct {
	Bars     []hourColumn
	Reported int64
	Parked   int64
	Most     int64
}

// hourColumn is an hour, 30 wide in a drawing of 720 by 120.
type hourColumn struct {
	client.HourCount
	X                         int
	ReportedY, ReportedHeight int
	ParkedY, ParkedHeight     int
}

const chartHeight = 100

// newHourChart draws hours to one scale.
func newHourChart(s client.Series) hourChart {
	var c hourChart
	for _, h := range s.Hours {
		c.Reported += h.Reported
		c.Parked += h.Parked
		c.Most = max(c.Most, h.Reported, h.Parked)
	}
	for i, h := range s.Hours {
		b := hourColumn{HourCount: h, X: 30 * i}
		b.ReportedY, b.ReportedHeight = c.bar(h.Reported)
		b.ParkedY, b.ParkedHeight = c.bar(h.Parked)
		c.Bars = append(c.Bars, b)
	}
	return c
}

// bar is where a bar begins, and how high it is. What is not nothing is seen.
func (c hourChart) bar(n int64) (y, height int) {
	if n > 0 {
		height = 2 + int(n*(chartHeight-2)/c.Most)
	}
	return chartHeight - height, height
}

// Label is the hour as the axis names it: every sixth.
func (h hourColumn) Label() string {
	if h.Hour.Hour()%6 != 0 {
		return ""
	}
	return h.Hour.UTC().Format("15:04")
}

// Span is the hour in words.
func (h hourColumn) Span() string {
	return h.Hour.UTC().Format("Mon 15:04") + " to " + h.Hour.UTC().Add(time.Hour).Format("15:04") + " UTC"
}
