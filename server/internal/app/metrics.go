package app

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// metrics is what Prometheus reads. No label ever names a tenant or an entity.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "recoup_http_requests_total", Help: "Requests by endpoint, status and code."},
			[]string{"endpoint", "status", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "recoup_http_request_duration_seconds", Help: "How long requests took.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}}, []string{"endpoint"}),
	}
	m.registry.MustRegister(m.requests, m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// maxScrapes is how many scrapes are answered at once at an address of their own.
const maxScrapes = 4

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: 10 * time.Second})
}

// count counts a request; it is called for every one.
func (m *metrics) count(r fault.Request) {
	m.requests.WithLabelValues(r.Endpoint, strconv.Itoa(r.Status), string(r.Code)).Inc()
	m.duration.WithLabelValues(r.Endpoint).Observe(r.Duration.Seconds())
}

// showBuild adds what the program was built from, as a series that is always 1.
func (m *metrics) showBuild(v Version) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "recoup_build_info", Help: "What the program was built from; always 1."},
		[]string{"version", "revision", "date", "goversion"})
	info.WithLabelValues(v.Version, v.Revision, v.Date, v.Go).Set(1)
	m.registry.MustRegister(info)
}

// watch adds what is read from the node when it is asked for.
func (m *metrics) watch(n *Node) { m.registry.MustRegister(&nodeCollector{n}) }

// nodeCollector reads the ledger's statistics and the counts of errors.
type nodeCollector struct{ n *Node }

// cached makes a collector of metrics that are costly to read.
func (n *Node) cached(read func(now time.Time) []prometheus.Metric) prometheus.Collector {
	return slice.Cached(n.o.Now, read)
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("recoup_"+name, help, labels, nil)
}

var (
	descErrors    = describe("errors", "Errors by table and state.", "table", "state")
	descInFlight  = describe("http_requests_in_flight", "Requests being served.")
	descHeld      = describe("ledger_held_events", "Events accepted and not yet decided.")
	descOldest    = describe("ledger_oldest_seconds", "How long the oldest of them has waited.")
	descAway      = describe("ledger_away_seconds", "How long the ledger's database has been failing.")
	descEvents    = describe("ledger_events_total", "Events by what became of them.", "outcome")
	descDropped   = describe("ledger_dropped_total", "What was left out of the ledger, by reason.", "reason")
	descAhead     = describe("clock_ahead_seconds", "How far the reference of the node's clock was ahead at the last sample.")
	descCorrected = describe("clock_corrected_seconds_total", "By how much the node's clock was corrected, all together.")
	descSteps     = describe("clock_corrections_total", "How often the node's clock was corrected.")
	descDiscarded = describe("clock_samples_discarded_total", "Samples of the reference clock that took too long to be of use.")
	descUnmoved   = describe("errors_refused", "Errors that claims and jobs of this node pass over, because the database refuses to change them.")
	descReachable = describe("database_up", "Whether the database answers.")
	descTaken     = describe("tables_not_adopted", "Names of the policy's tables and archives that something else has in the database.")
)

// Describe sends nothing: which series there are depends on the data.
func (c *nodeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything anew.
func (c *nodeCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	total := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	counts, err := c.n.engine.Counts(ctx, engine.Caller{})
	up := 1.0
	if err != nil {
		up = 0
	}
	gauge(descReachable, up)
	gauge(descTaken, float64(len(c.n.registry.NotAdopted())))
	clock := c.n.clock.snapshot()
	gauge(descAhead, clock.ahead.Seconds())
	out <- prometheus.MustNewConstMetric(descCorrected, prometheus.CounterValue, clock.corrected.Seconds())
	total(descSteps, int64(clock.corrections))
	total(descDiscarded, int64(clock.discarded))
	for _, count := range counts {
		gauge(descErrors, float64(count.N), count.Table, string(count.State))
	}
	gauge(descUnmoved, float64(c.n.engine.Refused()))
	gauge(descInFlight, float64(c.n.api.InFlight()))
	s := c.n.ledger.Stats()
	gauge(descHeld, float64(s.Held))
	gauge(descOldest, s.Oldest.Seconds())
	gauge(descAway, s.Away.Seconds())
	for outcome, n := range map[string]int64{"dropped": s.Dropped[ledger.DropRefusedByStore] + s.Dropped[ledger.DropStoreFailed], "accepted": s.Accepted, "published": s.Published, "written": s.Written, "duplicate": s.Duplicates, "lost": s.Lost, "refused": s.Refused} {
		total(descEvents, n, outcome)
	}
	for reason, n := range s.Dropped {
		total(descDropped, n, reason)
	}
}
