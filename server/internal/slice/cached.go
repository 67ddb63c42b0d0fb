package slice

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// FiguresLife is for how long figures are cached: many may scrape a node, and the
// figures do not change by the second.
const FiguresLife = 5 * time.Second

// cachedCollector reports what was read last, and reads it anew once that is old. What
// cannot be read is not reported: an old value would look like a present one.
type cachedCollector struct {
	now  func() time.Time
	read func(now time.Time) []prometheus.Metric

	mu    sync.Mutex
	known []prometheus.Metric
	until time.Time
}

// Cached makes a collector of metrics that are costly to read.
func Cached(now func() time.Time, read func(now time.Time) []prometheus.Metric) prometheus.Collector {
	return &cachedCollector{now: now, read: read}
}

// Describe sends nothing: which series there are depends on the policy and the data.
func (c *cachedCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends what is known.
func (c *cachedCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); !now.Before(c.until) {
		c.known, c.until = c.read(now), now.Add(FiguresLife)
	}
	for _, m := range c.known {
		out <- m
	}
}
