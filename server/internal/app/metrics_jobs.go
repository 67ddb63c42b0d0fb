package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// jobCollector reads how the scheduled jobs go, from the database: every node reports
// the same, also where nobody leads.
type jobCollector struct{ n *Node }

var (
	descLeads       = describe("leader", "Whether this node leads.")
	descIdle        = describe("idle", "Whether this node is idle: nothing is due, and it looks at its database now and then.")
	descStandby     = describe("standby", "Whether this node is a standby, which runs no jobs and sends nothing.")
	descJobRan      = describe("job_last_run_timestamp_seconds", "When a job has ended last.", "job")
	descJobRuns     = describe("job_runs_total", "How often a job has run.", "job")
	descJobFailures = describe("job_failures_total", "How often a job has failed.", "job")
	descJobRows     = describe("job_rows_total", "How much a job has moved.", "job")
	descJobLate     = describe("job_late", "Whether a job is behind, or has not succeeded, for longer than it may.", "job")
	descOverdue     = describe("oldest_overdue_age_seconds", "How long the oldest of what a job has to do has been waiting.", "job")
	descRefused     = describe("policy_refused", "Whether a changed policy is refused, and the old one stays.")
)

// Describe sends nothing: which series there are depends on the jobs.
func (c *jobCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything anew; each is a row or the front of an index.
func (c *jobCollector) Collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	send(descLeads, prometheus.GaugeValue, truth(c.n.jobs.Leads()))
	send(descIdle, prometheus.GaugeValue, truth(c.n.pace.Asleep()))
	send(descStandby, prometheus.GaugeValue, truth(c.n.o.Standby))
	send(descRefused, prometheus.GaugeValue, truth(c.n.policyWatcher.refused.Load() != nil))
	if jobs, err := c.n.jobs.Statuses(ctx); err == nil {
		for _, j := range jobs {
			send(descJobRuns, prometheus.CounterValue, float64(j.Runs), j.Name)
			send(descJobFailures, prometheus.CounterValue, float64(j.Failures), j.Name)
			send(descJobRows, prometheus.CounterValue, float64(j.Rows), j.Name)
			send(descJobLate, prometheus.GaugeValue, truth(j.Late), j.Name)
			if !j.FinishedAt.IsZero() {
				send(descJobRan, prometheus.GaugeValue, float64(j.FinishedAt.UnixMilli())/1000, j.Name)
			}
		}
	}
	if lags, err := c.n.jobs.Lags(ctx); err == nil {
		for name, lag := range lags {
			send(descOverdue, prometheus.GaugeValue, lag.Seconds(), name)
		}
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
