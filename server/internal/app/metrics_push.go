package app

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// receiverCollector reports how deliveries to this node's receivers go.
type receiverCollector struct{ n *Node }

var (
	descDeliveries = describe("deliveries_total", "Deliveries to a receiver of this node, by what they came to.", "receiver", "outcome")
	descDelivering = describe("deliveries_in_flight", "Deliveries on their way.", "receiver")
	descReceiverUp = describe("receiver_up", "Whether a receiver takes deliveries, as far as this node knows.", "receiver")
	descLeftAlone  = describe("receiver_backoff_seconds", "For how long a receiver that fails is still left alone.", "receiver")
)

// Describe sends nothing: which series there are depends on the receivers.
func (c *receiverCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything anew.
func (c *receiverCollector) Collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	now := c.n.o.Now()
	for _, r := range c.n.pusher.Receivers() {
		for _, outcome := range slices.Sorted(maps.Keys(r.Deliveries)) {
			send(descDeliveries, prometheus.CounterValue, float64(r.Deliveries[outcome]), r.Name, outcome)
		}
		send(descDelivering, prometheus.GaugeValue, float64(r.InFlight), r.Name)
		send(descReceiverUp, prometheus.GaugeValue, truth(r.State == wire.ReceiverUp), r.Name)
		left := 0.0
		if !r.Until.IsZero() {
			left = max(0, r.Until.Sub(now).Seconds())
		}
		send(descLeftAlone, prometheus.GaugeValue, left, r.Name)
	}
}
