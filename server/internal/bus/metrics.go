package bus

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("recoup_"+name, help, labels, nil)
}

var (
	descUp          = describe("bus_up", "Whether the bus takes events; if not, they go to the database directly.")
	descEvents      = describe("bus_events_total", "Events that this node brought to the bus, wrote past it because it was away, or wrote from it.", "way")
	descWaiting     = describe("bus_waiting_batches", "Batches on the bus that are not written yet.")
	descBytes       = describe("bus_waiting_bytes", "What they take.")
	descLimit       = describe("bus_limit_bytes", "How much the bus takes before events are refused.")
	descOldest      = describe("bus_oldest_seconds", "How long the oldest batch has waited.")
	descFailures    = describe("bus_failures_total", "Tries of this node to write batches that failed and were repeated.")
	descQuarantined = describe("bus_quarantined_batches", "Batches that could not be written and wait for an operator.")
	descGaps        = describe("bus_gaps", "Gaps in what was written from the bus, older than an hour.")
)

// Metrics reads how the bus does.
func (s *Service) Metrics(now time.Time) (list []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	b, err := s.Status(ctx)
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, kind, v, labels...))
	}
	send(descUp, prometheus.GaugeValue, truth(b.Up))
	for way, n := range map[string]int64{"published": b.Node.Published, "direct": b.Node.Direct, "written": b.Node.Written, "duplicate": b.Node.Duplicates} {
		send(descEvents, prometheus.CounterValue, float64(n), way)
	}
	send(descFailures, prometheus.CounterValue, float64(b.Node.Failures))
	if b.Up {
		send(descWaiting, prometheus.GaugeValue, float64(b.Stream.Waiting))
		send(descBytes, prometheus.GaugeValue, float64(b.Stream.Bytes))
		send(descLimit, prometheus.GaugeValue, float64(b.Stream.MaxBytes))
		send(descQuarantined, prometheus.GaugeValue, float64(b.Quarantined))
		oldest := 0.0
		if b.Stream.Oldest != nil {
			oldest = max(0, now.Sub(*b.Stream.Oldest).Seconds())
		}
		send(descOldest, prometheus.GaugeValue, oldest)
	}
	if err == nil {
		send(descGaps, prometheus.GaugeValue, float64(len(b.Gaps)))
	}
	return list
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
