package alert

import (
	"strings"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// object is a JSON object; Grafana's model has hundreds of fields, of which a
// dashboard needs few.
type object = map[string]any

// dashboard lays panels out, from left to right and from top to bottom.
type dashboard struct {
	panels []object
	x, y   int
	row    int // the height of the present row
}

// gridWidth is the width of Grafana's grid.
const gridWidth = 24

// GrafanaDashboard makes a dashboard of a policy's metrics, for a Prometheus that
// has the rules of [PrometheusRules].
func GrafanaDashboard(p *policy.Policy) map[string]any {
	d := &dashboard{}
	d.numbers()
	for _, m := range exposedMetrics(p) {
		d.metric(m)
	}
	d.graph("Alerts that fire", "short", 0, `sum by (severity) (max by (state, severity) (recoup_alerts{state="FIRING"}))`, "{{severity}}")
	d.graph("Errors by state", "short", 0, "sum by (state) (max by (table, state) (recoup_errors))", "{{state}}")
	d.graph("Oldest that a job has not done", "s", 0, "max by (job) (recoup_oldest_overdue_age_seconds)", "{{job}}")
	d.graph("Requests to Recoup", "reqps", 0, `sum by (status) (rate(recoup_http_requests_total[5m]))`, "{{status}}")
	d.graph("Providers in use", "short", 0, "max by (group, provider) (recoup_provider_active)", "{{group}}: {{provider}}")
	return object{
		"uid": "recoup", "title": "Recoup", "tags": []string{"recoup"}, "schemaVersion": 39, "version": 1,
		"description": "Metrics of policy " + p.Version + ".", "editable": true, "refresh": "30s",
		"time":       object{"from": "now-24h", "to": "now"},
		"templating": object{"list": []object{{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}}},
		"panels":     d.panels,
	}
}

// numbers is the first row: how things stand.
func (d *dashboard) numbers() {
	d.number("Alerts firing", `sum(max by (state, severity) (recoup_alerts{state="FIRING"}))`, 1)
	d.number("Errors parked", Recorded("parked_errors", policy.PerPlatform), 0)
	d.number("Errors that block", Recorded("blocking_errors", policy.PerPlatform), 0)
	d.number("Jobs that are late", "sum(max by (job) (recoup_job_late))", 1)
}

// metric draws a metric for every scope that rules can be counted for, the finest.
func (d *dashboard) metric(m policy.Metric) {
	per := exported(m.Name)[len(exported(m.Name))-1]
	unit := "short"
	switch {
	case m.Kind.Relative():
		unit = "percentunit"
	case m.Name == RequestDuration || m.Name == FailedDuration:
		unit = "s"
	}
	legend := "{{" + string(per) + "}}"
	if strings.Contains(strings.Join(labels(m.Name), " "), "window") {
		legend += " {{window}}"
	}
	d.graph(strings.ReplaceAll(m.Name, "_", " ")+" per "+string(per), unit, m.Threshold, Recorded(m.Name, per), legend)
}

func (d *dashboard) number(title, expr string, red float64) {
	steps := []object{{"color": "green", "value": nil}}
	if red > 0 {
		steps = append(steps, object{"color": "red", "value": red})
	}
	d.add(6, 4, object{
		"type": "stat", "title": title, "targets": targets(expr, ""),
		"fieldConfig": object{"defaults": object{"noValue": "0", "thresholds": object{"mode": "absolute", "steps": steps}}, "overrides": []object{}},
		"options":     object{"colorMode": "value", "reduceOptions": object{"calcs": []string{"lastNotNull"}}},
	})
}

func (d *dashboard) graph(title, unit string, threshold float64, expr, legend string) {
	defaults := object{"unit": unit, "min": 0}
	if threshold > 0 {
		defaults["thresholds"] = object{"mode": "absolute", "steps": []object{{"color": "green", "value": nil}, {"color": "red", "value": threshold}}}
		defaults["custom"] = object{"thresholdsStyle": object{"mode": "line"}}
	}
	d.add(12, 8, object{
		"type": "timeseries", "title": title, "targets": targets(expr, legend),
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
		"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}},
	})
}

func targets(expr, legend string) []object {
	return []object{{"refId": "A", "expr": expr, "legendFormat": legend, "datasource": chosen()}}
}

// chosen is the data source that a person chooses at the top.
func chosen() object { return object{"type": "prometheus", "uid": "${source}"} }

func (d *dashboard) add(width, height int, panel object) {
	if d.x+width > gridWidth {
		d.x, d.y, d.row = 0, d.y+d.row, 0
	}
	panel["id"] = len(d.panels) + 1
	panel["datasource"] = chosen()
	panel["gridPos"] = object{"x": d.x, "y": d.y, "w": width, "h": height}
	d.panels = append(d.panels, panel)
	d.x, d.row = d.x+width, max(d.row, height)
}
