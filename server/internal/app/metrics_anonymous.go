package app

import "github.com/prometheus/client_golang/prometheus"

var (
	descAnonymous        = describe("http_anonymous_in_flight", "Requests without a key being served.")
	descAnonymousMost    = describe("http_anonymous_in_flight_max", "Most requests without a key that were served at once, since the start.")
	descAnonymousSlots   = describe("http_anonymous_slots", "Requests without a key that can be served at once.")
	descAnonymousRefused = describe("http_anonymous_refused_total", "Requests without a key that were refused for their rate or number.")
	descRendered         = describe("http_pages_rendered_total", "Pages without a key that were rendered; all others came from memory.")
)

// anonymousCollector reads how requests without a key do.
type anonymousCollector struct{ n *Node }

// Describe sends nothing: the series are those of the API.
func (c *anonymousCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the figures.
func (c *anonymousCollector) Collect(out chan<- prometheus.Metric) {
	f := c.n.api.AnonymousFigures()
	for d, v := range map[*prometheus.Desc]int{descAnonymous: f.InFlight, descAnonymousMost: f.Most, descAnonymousSlots: f.Slots} {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	for d, v := range map[*prometheus.Desc]int64{descAnonymousRefused: f.Refused, descRendered: f.Rendered} {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
}
