package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// hourChart is what was reported and parked in each hour of a day, drawn as bars beside each
// other, with the same figures as a table.
type hourChart struct {
	Bars     []hourColumn
	Reported int64
	Parked   int64
	Most     int64
	Level    levelChart
}

// levelChart is how many were parked at the end of each hour, drawn as a line to a scale of
// its own, with the limits of alert rules that compare it.
type levelChart struct {
	Points string // of the line, 30 apart
	Now    int64
	Most   int64
	Top    int64 // of the scale
	Limits []limitLine
}

// limitLine is where a rule draws its line. One that is far above the level would flatten
// it, and is said in words alone.
type limitLine struct {
	wire.Threshold
	Y     int
	Drawn bool
}

// Label is the rule in words.
func (l limitLine) Label() string {
	return l.Rule + " " + l.Compare + " " + strconv.FormatFloat(l.Value, 'f', -1, 64)
}

const levelHeight = 60

// newLevelChart draws the level of hours and the limits within reach to one scale.
func newLevelChart(s wire.Series) (c levelChart) {
	for _, h := range s.Hours {
		c.Most, c.Now = max(c.Most, h.InPark), h.InPark
	}
	scale := float64(max(c.Most, 1))
	for _, l := range s.Thresholds {
		if l.Figure == "in_park" && l.Value <= 4*scale {
			scale = max(scale, l.Value)
		}
	}
	c.Top = int64(scale)
	y := func(v float64) int { return levelHeight - int(min(v/scale, 1)*(levelHeight-2)) }
	for i, h := range s.Hours {
		c.Points += fmt.Sprintf("%d,%d %d,%d ", 30*i, y(float64(h.InPark)), 30*(i+1), y(float64(h.InPark)))
	}
	c.Points = strings.TrimSpace(c.Points)
	for _, l := range s.Thresholds {
		if l.Figure == "in_park" {
			c.Limits = append(c.Limits, limitLine{l, y(l.Value), l.Value <= scale})
		}
	}
	return c
}

// hourColumn is an hour, 30 wide in a drawing of 720 by 120.
type hourColumn struct {
	wire.HourCount
	X                         int
	ReportedY, ReportedHeight int
	ParkedY, ParkedHeight     int
}

const chartHeight = 100

// newHourChart draws hours to one scale.
func newHourChart(s wire.Series) hourChart {
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
	c.Level = newLevelChart(s)
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
