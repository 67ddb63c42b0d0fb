package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// busCollector reports how the bus does.
type busCollector struct{ n *Node }

var (
	descBusUp          = describe("bus_up", "Whether the bus takes events; if not, they go to the database directly.")
	descBusEvents      = describe("bus_events_total", "Events that this node brought to the bus, wrote past it because it was away, or wrote from it.", "way")
	descBusWaiting     = describe("bus_waiting_batches", "Batches on the bus that are not written yet.")
	descBusBytes       = describe("bus_waiting_bytes", "What they take.")
	descBusLimit       = describe("bus_limit_bytes", "How much the bus takes before events are refused.")
	descBusOldest      = describe("bus_oldest_seconds", "How long the oldest batch has waited.")
	descBusFailures    = describe("bus_failures_total", "Tries of this node to write batches that failed and were repeated.")
	descBusQuarantined = describe("bus_quarantined_batches", "Batches that could not be written and wait for an operator.")
	descBusGaps        = describe("bus_gaps", "Gaps in what was written from the bus, older than an hour.")
)

// read returns what is counted anew.
func (c busCollector) read(time.Time) (list []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	s, err := busAdmin{c.n}.Status(ctx)
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, kind, v, labels...))
	}
	send(descBusUp, prometheus.GaugeValue, truth(s.Up))
	for way, n := range map[string]int64{"published": s.Node.Published, "direct": s.Node.Direct, "written": s.Node.Written, "duplicate": s.Node.Duplicates} {
		send(descBusEvents, prometheus.CounterValue, float64(n), way)
	}
	send(descBusFailures, prometheus.CounterValue, float64(s.Node.Failures))
	if s.Up {
		send(descBusWaiting, prometheus.GaugeValue, float64(s.Stream.Waiting))
		send(descBusBytes, prometheus.GaugeValue, float64(s.Stream.Bytes))
		send(descBusLimit, prometheus.GaugeValue, float64(s.Stream.MaxBytes))
		send(descBusQuarantined, prometheus.GaugeValue, float64(s.Quarantined))
		oldest := 0.0
		if s.Stream.Oldest != nil {
			oldest = max(0, c.n.o.Now().Sub(*s.Stream.Oldest).Seconds())
		}
		send(descBusOldest, prometheus.GaugeValue, oldest)
	}
	if err == nil {
		send(descBusGaps, prometheus.GaugeValue, float64(len(s.Gaps)))
	}
	return list
}
