package alert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// RuleFile is a file of rules for Prometheus.
type RuleFile struct {
	Groups []RuleGroup `yaml:"groups" json:"groups"`
}

// RuleGroup is rules that are evaluated together, in order.
type RuleGroup struct {
	Name     string `yaml:"name" json:"name"`
	Interval string `yaml:"interval,omitempty" json:"interval,omitempty"`
	Rules    []Rule `yaml:"rules" json:"rules"`
}

// Rule is a rule of Prometheus: a series that it records, or an alert.
type Rule struct {
	Record      string            `yaml:"record,omitempty" json:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty" json:"alert,omitempty"`
	Expr        string            `yaml:"expr" json:"expr"`
	For         string            `yaml:"for,omitempty" json:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty" json:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty" json:"annotations,omitempty"`
}

// PrometheusRules writes the alert rules of a policy for those who let Prometheus
// evaluate them. Every node of a database exports the same figures, so what nodes
// export is brought together first, and then summed up: as recorded series, which
// dashboards use too. Other rules watch Recoup. What Recoup does itself, such as switching providers, no
// rule of Prometheus does.
func PrometheusRules(p *policy.Policy) RuleFile {
	record := RuleGroup{Name: "recoup-metrics", Interval: "30s"}
	for _, m := range exposedMetrics(p) {
		for _, per := range exported(m.Name) {
			record.Rules = append(record.Rules, recorded(m.Name, per)...)
		}
	}
	alerts := RuleGroup{Name: "recoup-alerts", Interval: "30s"}
	for i := range p.Alerts {
		if rule := &p.Alerts[i]; slices.Contains(exported(rule.Metric), rule.Per) {
			alerts.Rules = append(alerts.Rules, alertRule(p, rule))
		}
	}
	return RuleFile{Groups: []RuleGroup{record, alerts, serviceRules(p)}}
}

// exported lists what a metric is recorded for: all that rules can be counted for.
func exported(metric string) []policy.Scope {
	return slices.DeleteFunc(Scopes(metric), func(s policy.Scope) bool { return s == PerTable })
}

// Recorded names the series of a metric that PrometheusRules records.
func Recorded(metric string, per policy.Scope) string {
	switch {
	case metric == Unattended:
		return string(per) + ":" + prefix + metric + ":max"
	case ratio(metric):
		return string(per) + ":" + prefix + metric + ":mean"
	}
	return string(per) + ":" + prefix + metric + ":sum"
}

func recordedSamples(metric string, per policy.Scope) string {
	return string(per) + ":" + prefix + metric + samples + ":sum"
}

// recorded are the series of a metric for a kind of scope.
func recorded(metric string, per policy.Scope) []Rule {
	var by []string
	if per != policy.PerPlatform {
		by = append(by, string(per))
	}
	if slices.Contains(labels(metric), "window") {
		by = append(by, "window")
	}
	sum := "sum"
	if metric == Unattended {
		sum = "max"
	}
	if len(by) > 0 {
		sum += " by (" + strings.Join(by, ", ") + ")"
	}
	// Nodes export the same: one of them is enough.
	one := func(name string) string {
		return "max by (" + strings.Join(labels(metric), ", ") + ") (" + name + ")"
	}
	name := prefix + metric
	if !ratio(metric) {
		return []Rule{{Record: Recorded(metric, per), Expr: fmt.Sprintf("%s (%s)", sum, one(name))}}
	}
	return []Rule{
		{Record: recordedSamples(metric, per), Expr: fmt.Sprintf("%s (%s)", sum, one(name+samples))},
		{Record: Recorded(metric, per), Expr: fmt.Sprintf("%s (%s * %s) / (%s > 0)", sum, one(name), one(name+samples), recordedSamples(metric, per))},
	}
}

func alertRule(p *policy.Policy, rule *policy.Alert) Rule {
	var match []string
	add := func(label, op, value string) { match = append(match, label+op+strconv.Quote(value)) }
	if rule.Hub != "" {
		add("hub", "=", rule.Hub)
	}
	if rule.Per == policy.PerProvider {
		add("provider", "!=", "")
	}
	if slices.Contains(labels(rule.Metric), "window") {
		add("window", "=", policy.FormatDuration(rule.Window))
	}
	selector := ""
	if len(match) > 0 {
		selector = "{" + strings.Join(match, ",") + "}"
	}
	expr := fmt.Sprintf("%s%s %s %s", Recorded(rule.Metric, rule.Per), selector, rule.Compare, strconv.FormatFloat(rule.Value, 'f', -1, 64))
	if kindOf(p, rule.Metric) == policy.Rate {
		expr += fmt.Sprintf(" and %s%s >= %d", recordedSamples(rule.Metric, rule.Per), selector, p.MinSamples)
	}
	out := Rule{
		Alert: "Recoup" + camel(rule.Name), Expr: expr,
		Labels:      map[string]string{"severity": strings.ToLower(string(rule.Severity)), "action": strings.ToLower(string(rule.Action))},
		Annotations: map[string]string{"summary": summary(p, rule)},
	}
	if rule.For > 0 {
		out.For = policy.FormatDuration(rule.For)
	}
	return out
}

func summary(p *policy.Policy, rule *policy.Alert) string {
	value := "{{ $value | humanize }}"
	if kindOf(p, rule.Metric).Relative() {
		value = "{{ $value | humanizePercentage }}"
	}
	scope := ""
	if rule.Per != policy.PerPlatform {
		scope = "{{ $labels." + string(rule.Per) + " }}: "
	}
	return scope + rule.Condition() + ", now " + value
}

// camel writes the name of a rule as Prometheus' users write theirs.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
