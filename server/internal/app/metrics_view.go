package app

import (
	"bytes"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// metricsFor returns what the API shows of the metrics; nil if they have an
// address of their own.
func (n *Node) metricsFor() api.Metrics {
	if n.o.MetricsListen != "" {
		return nil
	}
	return n.metricsOf
}

// metricsOf writes the metrics that somebody may see who may see some hubs only:
// what is of these hubs, and how the node itself does.
func (n *Node) metricsOf(hubs []string) ([]byte, error) {
	families, err := n.metrics.registry.Gather()
	if err != nil && len(families) == 0 {
		return nil, err
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if len(hubs) > 0 {
			f.Metric = n.visible(f, hubs)
		}
		if len(f.Metric) == 0 {
			continue
		}
		if err := encoder.Encode(f); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// visible returns the series of a family that are of the hubs or of no hub. What
// callers name, such as services and pipelines, may be of another.
func (n *Node) visible(f *dto.MetricFamily, hubs []string) (list []*dto.Metric) {
	for _, m := range f.Metric {
		labels := map[string]string{}
		for _, l := range m.Label {
			labels[l.GetName()] = l.GetValue()
		}
		table, of := n.engine.Policies.Table(labels["table"])
		switch {
		case labels["table"] != "":
			if of && (engine.Caller{Hubs: hubs}).MayTouch(table) {
				list = append(list, m)
			}
		case ofTheNode(f.GetName()):
			list = append(list, m)
		}
	}
	return list
}

// ofTheNode reports whether a metric is about a process and not about what it
// is used for.
func ofTheNode(name string) bool {
	for _, prefix := range []string{"go_", "process_", "recoup_http_", "recoup_ledger_", "recoup_database_up", "recoup_leader", "recoup_job_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
