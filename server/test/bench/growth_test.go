package bench

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// BenchmarkGrowth asks every question that the product asks, of a database with
// 10,000 errors and 10,000 events and of one with a million errors and five
// million events, in turn, and prints both times and their ratios, by the clock and
// by the processor. With RECOUP_ERRORS=10000000, as in make bench-large, the large one
// has so many errors, and five times as many events; SQLite is left out then. Target:
// at most 1.3 for the claim of 100, the gate check, the first page of the park queue
// and the top codes.
//
// What must not cost more is history, so both have the same present: the errors
// are mixed alike, and equally many deadlines are missed; the last 25 hours have
// the same 10,000 events, of every code in every service, and the other events lie in the 90 days before, which is as long as they are kept. A span in
// which more happened costs more: whole hours are added up from at most as many
// counts as there are services and codes, and what is left at its two ends, an
// hour at most for a span of whole hours, is counted event by event. The
// questions about days are asked over 7: of the small database they see two days
// and of the large one eight, and their ratio shows that.
//
// With -short the large one has 50,000 errors and 250,000 events.
func BenchmarkGrowth(b *testing.B) {
	small, full := volume{errors: 10_000}, large(b)
	b.Run("postgres", func(b *testing.B) { askBoth(b, fillPostgres(b, small), fillPostgres(b, full)) })
	if full.errors <= million {
		b.Run("sqlite", func(b *testing.B) { askBoth(b, fillSQLite(b, small), fillSQLite(b, full)) })
	}
}

const million = 1_000_000

// large is what the large database holds.
func large(b *testing.B) volume {
	b.Helper()
	n := million
	if testing.Short() {
		n /= 20
	}
	if text := os.Getenv("RECOUP_ERRORS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		must(b, err)
	}
	return volume{errors: n, history: 5*n - recentEvents}
}

// volume is how much a database holds: errors, and events beside the recent ones.
type volume struct{ errors, history int }

// The recent events, and the days over which the others are spread.
const (
	recentEvents = 10_000
	recent       = 25 * time.Hour
	historyDays  = 90
)

// present is the time at which questions are asked: in the middle of an hour.
func present() time.Time { return conformance.Epoch().Add(30 * time.Minute) }

// filled is a database that questions are asked of, and a node on it.
type filled struct {
	database
	*node
	volume
	correlation recoup.ID // of some events
	metrics     func() http.Handler
	owner       *pgx.Conn // of PostgreSQL
}

func newFilled(b *testing.B, s database, v volume, correlation recoup.ID) filled {
	n := newNode(b, s)
	n.now = present()
	return filled{database: s, node: n, volume: v, correlation: correlation, metrics: newMetrics(b, s)}
}

// growthRounds is how often a question is asked at least, however short the
// benchmark.
const growthRounds = 20

func askBoth(b *testing.B, small, full filled) {
	for _, q := range questions() {
		b.Run(q.name, func(b *testing.B) {
			c := contest{B: b}
			small.B, full.B = b, b
			for b.Loop() {
				for range growthRounds {
					// What is prepared is not timed.
					c.round(1, q.ask(full), q.ask(small))
				}
			}
			grows, cpu := inverse(c.ratios), inverse(c.cpuRatios)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1e6/median(c.theirs), "small-µs")
			b.ReportMetric(1e6/median(c.ours), "full-µs")
			b.ReportMetric(median(grows), "grows")
			b.ReportMetric(median(cpu), "cpu-grows")
			growths.add([]string{name(b.Name()), count(small.errors) + " → " + count(full.errors),
				fmt.Sprintf("%.0f µs", 1e6/median(c.theirs)), fmt.Sprintf("%.0f µs", 1e6/median(c.ours)), spread(grows),
				fmt.Sprintf("%.0f µs", median(c.theirCPU)), fmt.Sprintf("%.0f µs", median(c.ourCPU)), spread(cpu)})
		})
	}
}

func inverse(list []float64) []float64 {
	out := slices.Clone(list)
	for i := range out {
		out[i] = 1 / out[i]
	}
	return out
}

// count writes a round number.
func count(n int) string { return fmt.Sprintf("%.0e", float64(n)) }
