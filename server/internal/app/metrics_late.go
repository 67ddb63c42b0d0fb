package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// lateCollector reports events of acts that the ledger could not take with their act.
type lateCollector struct {
	n     *Node
	store store.LateEvents
}

var (
	descLate      = describe("ledger_late_events", "Events of acts that wait in the database until the ledger is free, at most 20000.")
	descLateSince = describe("ledger_late_seconds", "How long the oldest of them has waited.")
)

// read returns what is counted anew.
func (c lateCollector) read(now time.Time) (list []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	late, err := c.store.LateEvents(ctx, store.MaxFigure)
	if err != nil {
		return nil
	}
	return []prometheus.Metric{
		prometheus.MustNewConstMetric(descLate, prometheus.GaugeValue, float64(late.N)),
		prometheus.MustNewConstMetric(descLateSince, prometheus.GaugeValue, late.Age(now).Seconds()),
	}
}
