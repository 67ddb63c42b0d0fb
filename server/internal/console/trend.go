package console

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// trend is what came on each of the last thirty days, drawn as bars.
type trend struct {
	Bars  []bar
	Total int64
	Most  int64
}

// bar is a day, 3 wide in a drawing of 120 by 24.
type bar struct {
	X, Y, Height int
	Day          time.Time
	N            int64
}

const trendDays, trendHeight = 30, 24

// newTrend draws the days up to today. Days that the list leaves out had nothing.
func newTrend(days []recoup.DayCount, now time.Time) trend {
	var t trend
	counts := map[time.Time]int64{}
	for _, d := range days {
		counts[d.Day.UTC().Truncate(24*time.Hour)] += d.N
	}
	today := now.UTC().Truncate(24 * time.Hour)
	for i := range trendDays {
		day := today.AddDate(0, 0, i+1-trendDays)
		n := counts[day]
		t.Bars = append(t.Bars, bar{X: 4 * i, Day: day, N: n})
		t.Total += n
		t.Most = max(t.Most, n)
	}
	for i := range t.Bars {
		b := &t.Bars[i]
		b.Height = 1 // a day without anything is a line
		if b.N > 0 {
			b.Height = 2 + int(b.N*(trendHeight-2)/t.Most)
		}
		b.Y = trendHeight - b.Height
	}
	return t
}
