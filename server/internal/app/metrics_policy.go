package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// policyCollector exports the metrics of the policy to Prometheus, by the names that
// recoup export prometheus-rules relies on, and how many alerts there are.
type policyCollector struct{ n *Node }

var (
	descAlerts   = describe("alerts", "Alerts that are not resolved, by state and severity.", "state", "severity")
	descSilences = describe("silences", "Silences that hold.")
	descActive   = describe("provider_active", "Which provider of a group is in use.", "group", "provider")
)

func (c policyCollector) read(now time.Time) []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	p := c.n.engine.Policies.Current()
	var list []prometheus.Metric
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	figures, err := alert.Load(ctx, c.n.store, p, c.n.registry.Codes(), now)
	if err != nil {
		return nil
	}
	for _, e := range figures.Exposition() {
		gauge(prometheus.NewDesc(e.Name, e.Help, e.Labels, nil), e.Value, e.Values...)
	}
	open, err := c.n.store.OpenAlerts(ctx)
	if err != nil {
		return list
	}
	counts := map[[2]string]int{}
	for _, state := range []wire.AlertState{wire.AlertPending, wire.AlertFiring} {
		for _, severity := range []wire.AlertSeverity{wire.AlertWarning, wire.AlertHigh, wire.AlertCritical} {
			counts[[2]string{string(state), string(severity)}] = 0
		}
	}
	for i := range open {
		counts[[2]string{string(open[i].State), string(open[i].Severity)}]++
	}
	for labels, n := range counts {
		gauge(descAlerts, float64(n), labels[0], labels[1])
	}
	if silences, _, err := c.n.store.Silences(ctx, now, sqldb.Page{Limit: sqldb.MaxPage}); err == nil {
		gauge(descSilences, float64(len(silences)))
	}
	c.providers(ctx, p, gauge)
	return list
}

// providers reports which member of each group is in use.
func (c policyCollector) providers(ctx context.Context, p *policy.Policy, gauge func(*prometheus.Desc, float64, ...string)) {
	rows, err := c.n.store.Providers(ctx)
	if err != nil {
		return
	}
	for i := range p.Providers {
		active, _ := alert.InUse(&p.Providers[i], rows)
		for _, member := range p.Providers[i].Members {
			used := 0.0
			if member == active {
				used = 1
			}
			gauge(descActive, used, p.Providers[i].Name, member)
		}
	}
}
