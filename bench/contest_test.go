package bench

import (
	"slices"
	"testing"
	"time"
)

// contest lets Recoup and a rival, or the raw limit, do the same work in turn,
// round after round, so that whatever else the machine does hits both. Who
// begins changes with every round.
type contest struct {
	*testing.B
	ours, theirs, ratios []float64
}

// turn is the work of one round. What it returns is done when the time has been
// taken.
type turn func() (rest func())

// just is a turn that leaves nothing to do.
func just(do func()) turn {
	return func() func() { do(); return func() {} }
}

// round times one turn of each, which do this many units of work.
func (c *contest) round(units int, ours, theirs turn) {
	c.Helper()
	var mine, rival float64
	if len(c.ratios)%2 == 0 {
		mine, rival = rate(units, ours), rate(units, theirs)
	} else {
		rival, mine = rate(units, theirs), rate(units, ours)
	}
	c.ours, c.theirs, c.ratios = append(c.ours, mine), append(c.theirs, rival), append(c.ratios, mine/rival)
}

func rate(units int, do turn) float64 {
	start := time.Now()
	rest := do()
	took := time.Since(start)
	rest()
	return float64(units) / took.Seconds()
}

// report prints the median rates, and the ratio of the two: its median and its
// worst round.
func (c *contest) report(unit, rival string) {
	c.ReportMetric(0, "ns/op")
	c.ReportMetric(median(c.ours), unit+"/s")
	c.ReportMetric(median(c.theirs), rival+"/s")
	c.ReportMetric(median(c.ratios), "ratio")
	c.ReportMetric(slices.Min(c.ratios), "ratio-min")
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
