package gatezero

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup"
)

// Figures are what is counted at Gate Zero.
type Figures interface {
	GateFigures(ctx context.Context) (recoup.GateZeroStatus, error)
}

// collector counts what is at Gate Zero. A reason that says nothing about the
// company is distinguished from one that does; no label names a batch, of which
// there may be any number.
type collector struct{ of Figures }

// Collector returns the metrics of Gate Zero.
func Collector(of Figures) prometheus.Collector { return &collector{of} }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("recoup_"+name, help, labels, nil)
}

var (
	descRecoveries  = describe("gate_zero", "Recoveries by state and by what the last failure was about.", "state", "reason_class")
	descReasons     = describe("gate_zero_reasons", "Recoveries by state and last reason.", "state", "reason")
	descIntakes     = describe("gate_zero_intakes", "Intakes of batches, by status.", "status")
	descBatches     = describe("gate_zero_batches", "Batches.")
	descBatchKilled = describe("gate_zero_killed_batches", "Batches whose kill switch is on.")
	descBatchFrozen = describe("gate_zero_frozen_batches", "Batches that are frozen.")
)

// Describe sends nothing: which series there are depends on the data.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything anew, from counts that are kept as rows change. What
// cannot be read is not reported.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	f, err := c.of.GateFigures(ctx)
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(descBatches, f.Batches)
	gauge(descBatchKilled, f.Killed)
	gauge(descBatchFrozen, f.Frozen)
	for _, status := range recoup.IntakeStatuses() {
		gauge(descIntakes, f.Intakes[status], string(status))
	}
	for labels, sum := range reasonClasses(f.Recoveries) {
		gauge(descRecoveries, sum, labels[0], labels[1])
	}
	for _, r := range f.Recoveries {
		gauge(descReasons, r.N, string(r.Status), r.Reason)
	}
}

// reasonClasses adds up counts by status and class, those that are none too: a
// series that comes and goes cannot be alerted on.
func reasonClasses(counts []recoup.RecoveryCount) map[[2]string]int64 {
	sums := map[[2]string]int64{}
	for _, status := range []recoup.RecoveryStatus{recoup.RecoveryActive, recoup.RecoveryExhausted, recoup.RecoverySucceeded} {
		for _, reason := range []string{"", Timeout} {
			sums[[2]string{string(status), ReasonClass(reason)}] = 0
		}
	}
	for _, r := range counts {
		sums[[2]string{string(r.Status), ReasonClass(r.Reason)}] += r.N
	}
	return sums
}
