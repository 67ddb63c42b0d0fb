package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// queueCollector reports whether workers claim what is due, of all nodes together.
type queueCollector struct{ n *Node }

var (
	descWorkers      = describe("workers", "Workers that have claimed retries of a table within five minutes, on all nodes.", "table")
	descUnclaimed    = describe("due_unclaimed_age_seconds", "How long the oldest retry that is due has waited for a worker; 0: none does.", "table")
	descWorkWorkers  = describe("work_workers", "Workers that have claimed work of a lane within five minutes, on all nodes; the smallest lanes together are _other.", "pipeline", "stage")
	descWorkUnworked = describe("work_due_unclaimed_age_seconds", "How long the oldest work that can be claimed has waited for a worker; 0: none does.", "pipeline", "stage")
)

func (c queueCollector) read(now time.Time) (list []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	levels, err := c.n.store.QueueLevels(ctx, now, c.n.engine.Policies.Current().ClaimedTables())
	if err != nil {
		return nil
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	for _, q := range largestLanes(levels) {
		if q.Table != "" {
			gauge(descWorkers, float64(len(q.Workers)), q.Table)
			gauge(descUnclaimed, q.Waited(now).Seconds(), q.Table)
			continue
		}
		gauge(descWorkWorkers, float64(len(q.Workers)), q.Lane.Pipeline, q.Lane.Stage)
		gauge(descWorkUnworked, q.Waited(now).Seconds(), q.Lane.Pipeline, q.Lane.Stage)
	}
	return list
}

// largestLanes leaves all tables and the largest lanes as they are, and puts the other
// lanes together: callers name them.
func largestLanes(levels []store.QueueLevel) []store.QueueLevel {
	bySize := slices.SortedStableFunc(slices.Values(levels), func(a, b store.QueueLevel) int {
		return cmp.Or(cmp.Compare(b.Table, a.Table), cmp.Compare(b.N, a.N))
	})
	lanes := slices.IndexFunc(bySize, func(q store.QueueLevel) bool { return q.Table == "" })
	if lanes < 0 || len(bySize)-lanes <= store.MaxLanes {
		return bySize
	}
	others := store.QueueLevel{Unclaimed: store.Unclaimed{Lane: recoup.Lane{Pipeline: otherKind, Stage: otherKind}}}
	for _, q := range bySize[lanes+store.MaxLanes:] {
		if q.N > 0 && (others.N == 0 || q.Since.Before(others.Since)) {
			others.Since = q.Since
		}
		others.N += q.N
		others.Workers = append(others.Workers, q.Workers...)
	}
	slices.Sort(others.Workers)
	others.Workers = slices.Compact(others.Workers)
	return append(bySize[:lanes+store.MaxLanes], others)
}
