package bench

import (
	"slices"
	"testing"
	"time"
)

// contest lets Recoup and a rival, or the raw limit, do the same work in turn,
// round after round, so that whatever else the machine does hits both. Who
// begins changes with every round. It takes the time by the clock and by the
// processor: by the clock counts what users see, and by the processor what a
// busy machine does not change.
type contest struct {
	*testing.B
	ours, theirs, ratios        []float64 // units per second, and their ratio
	ourCPU, theirCPU, cpuRatios []float64 // microseconds per unit, and how often ours goes into theirs
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
	var mine, rival pace
	if len(c.ratios)%2 == 0 {
		mine, rival = c.time(units, ours), c.time(units, theirs)
	} else {
		rival, mine = c.time(units, theirs), c.time(units, ours)
	}
	c.ours, c.theirs, c.ratios = append(c.ours, mine.clock), append(c.theirs, rival.clock), append(c.ratios, mine.clock/rival.clock)
	c.ourCPU, c.theirCPU = append(c.ourCPU, 1e6/mine.cpu), append(c.theirCPU, 1e6/rival.cpu)
	c.cpuRatios = append(c.cpuRatios, mine.cpu/rival.cpu)
}

// alone times one turn for which there is no rival.
func (c *contest) alone(units int, ours turn) {
	c.Helper()
	mine := c.time(units, ours)
	c.ours, c.ourCPU = append(c.ours, mine.clock), append(c.ourCPU, 1e6/mine.cpu)
}

func (c *contest) time(units int, do turn) pace {
	stop, start := stopwatch(c), time.Now()
	rest := do()
	took, cpu := time.Since(start), stop()
	rest()
	return pace{float64(units) / took.Seconds(), float64(units) / max(cpu, time.Microsecond).Seconds()}
}

func rate(units int, do turn) float64 {
	start := time.Now()
	rest := do()
	took := time.Since(start)
	rest()
	return float64(units) / took.Seconds()
}

// report prints the median rates, and the ratio of the two: its median and its
// worst round; and adds the contest to the table. Without a rival there is no ratio.
func (c *contest) report(unit, rival string) {
	c.ReportMetric(0, "ns/op")
	c.ReportMetric(median(c.ours), unit+"/s")
	c.ReportMetric(median(c.ourCPU), "cpu-µs")
	if rival != "" {
		c.ReportMetric(median(c.theirs), rival+"/s")
		c.ReportMetric(median(c.ratios), "ratio")
		c.ReportMetric(slices.Min(c.ratios), "ratio-min")
		c.ReportMetric(median(c.theirCPU), rival+"-cpu-µs")
		c.ReportMetric(median(c.cpuRatios), "cpu-ratio")
	}
	contests.add(contestLine(c, unit, rival))
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
