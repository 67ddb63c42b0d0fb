package adoption

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("recoup_"+name, help, labels, nil)
}

var (
	descAdopted        = describe("adopted_tables", "Adopted tables, by state.", "table", "state")
	descAdoptedPending = describe("adopted_pending_changes", "Changes of adopted tables that no node has looked at, counted up to 10,000.", "table")
	descAdoptedAge     = describe("adopted_oldest_change_seconds", "Age of the oldest change of an adopted table that no node has looked at.", "table")
	descAdoptedQueue   = describe("adopted_unwritten_rows", "Rows of adopted tables that do not show yet what became of their error, counted up to 10,000.", "table")
	descAdoptedBad     = describe("adopted_unreadable_rows", "Rows of adopted tables on which a condition of their owner fails, counted up to 10,000.", "table")
	descAdoptedRows    = describe("adopted_backfilled_rows", "Rows that an adopted table had before and that have been read.", "table")
	descAdoptedDone    = describe("adopted_rows_total", "What this node has done to rows of adopted tables.", "act")
)

// Figures counts what is adopted. Policies name the tables, so there are few. What cannot be read
// is not reported.
func (s *Service) Figures(time.Time) (list []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	adopted, err := s.List(ctx)
	if err != nil || len(adopted) == 0 {
		return nil
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	for _, a := range adopted {
		for _, state := range []wire.AdoptionState{wire.AdoptionAdopting, wire.AdoptionBackfilling, wire.AdoptionGoverned, wire.AdoptionReleasing} {
			is := 0.0
			if a.State == state {
				is = 1
			}
			gauge(descAdopted, is, a.Table, string(state))
		}
		gauge(descAdoptedPending, float64(a.Pending), a.Table)
		gauge(descAdoptedAge, a.Behind, a.Table)
		gauge(descAdoptedQueue, float64(a.Unwritten), a.Table)
		gauge(descAdoptedBad, float64(a.Unreadable), a.Table)
		gauge(descAdoptedRows, float64(a.Scanned), a.Table)
	}
	done := s.Counts()
	for act, n := range map[string]int64{"looked_at": done.Looked, "reported": done.Reported, "resolved": done.Resolved, "mirrored": done.Mirrored, "removed": done.Removed, "refused": done.Refused, "set_off": done.Requeued, "dead_lettered": done.DeadLettered} {
		list = append(list, prometheus.MustNewConstMetric(descAdoptedDone, prometheus.CounterValue, float64(n), act))
	}
	return list
}
