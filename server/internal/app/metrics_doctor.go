package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// checkUp is the doctor's hourly look, whose findings are metrics.
func (n *Node) checkUp(ctx context.Context) (int, error) {
	if n.playing.Load() {
		return 0, nil
	}
	d, err := n.Diagnose(ctx)
	if err != nil {
		return 0, err
	}
	n.diagnosed.Store(&d)
	if !d.Healthy() {
		n.o.Logger.Warn("the doctor has findings: run recoup doctor", "findings", len(d.Findings), "worst", d.Findings[0].Severity, "subject", d.Findings[0].Subject)
	}
	return len(d.Findings), nil
}

// doctorCollector reports what the doctor found last. It looks once an hour, on the node
// that leads; the others report nothing.
type doctorCollector struct{ n *Node }

var (
	descFindings = describe("doctor_findings", "What recoup doctor found in its last hourly look, by check and severity; reported by the leader.", "check", "severity")
	descExamined = describe("doctor_last_run_timestamp_seconds", "When the doctor has looked last; reported by the leader.")
)

// Describe sends nothing: which series there are depends on what is found.
func (c *doctorCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends what is known.
func (c *doctorCollector) Collect(out chan<- prometheus.Metric) {
	d := c.n.diagnosed.Load()
	if d == nil || !c.n.jobs.Leads() {
		return
	}
	type series struct {
		check    string
		severity wire.FindingSeverity
	}
	found := map[series]int{}
	for i := range d.Findings {
		found[series{d.Findings[i].Check, d.Findings[i].Severity}]++
	}
	for s, n := range found {
		out <- prometheus.MustNewConstMetric(descFindings, prometheus.GaugeValue, float64(n), s.check, string(s.severity))
	}
	out <- prometheus.MustNewConstMetric(descExamined, prometheus.GaugeValue, float64(d.At.Unix()))
}
