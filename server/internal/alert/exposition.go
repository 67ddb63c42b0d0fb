package alert

import (
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Series names of Prometheus. A ratio has a second series that says what it was
// made from; with it, the ratio of a hub is the mean of its tables', weighted by
// their samples, which is exactly the ratio of their sums.
const (
	prefix  = "recoup_"
	samples = "_samples"
)

// Exposed is one value as Prometheus reads it.
type Exposed struct {
	Name   string
	Help   string
	Labels []string
	Values []string // of the labels
	Value  float64
}

// Exposition returns the metrics of the policy, over every window that a rule has,
// for the smallest scopes that each can be measured for.
func (f *Figures) Exposition() []Exposed {
	var list []Exposed
	for _, m := range exposedMetrics(f.policy) {
		for _, window := range windows(f.policy, m.Name) {
			list = append(list, f.expose(m, window)...)
		}
	}
	return list
}

// exposedMetrics lists the exported metrics: those of a policy, and those of spec 001 that it need not name.
func exposedMetrics(p *policy.Policy) []policy.Metric {
	return append(slices.Clone(p.Metrics),
		policy.Metric{Name: RetrySuccess, Kind: policy.Rate, Means: "retries that succeed, per retry"},
		policy.Metric{Name: RequestDuration, Kind: policy.Level, Means: "mean time that an API request took"},
		policy.Metric{Name: FailedDuration, Kind: policy.Level, Means: "mean time that an API request took that failed"})
}

// windows lists the windows over which a metric is exported, the shortest first.
func windows(p *policy.Policy, metric string) []time.Duration {
	list := []time.Duration{Window(p, metric)}
	for _, rule := range p.Alerts {
		if rule.Metric == metric {
			list = append(list, rule.Window)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// labels are those of a metric's series.
func labels(metric string) []string {
	var list []string
	switch source(metric) {
	case fromRequests:
		list = []string{"service"}
	case fromEvents:
		list = []string{"provider"}
	case fromQueues:
		return []string{"hub"}
	default:
		list = []string{"hub", "table"}
	}
	if o := source(metric); o != fromLevels && o != fromToday {
		list = append(list, "window")
	}
	return list
}

// finest is the smallest scope that a metric can be measured for.
func finest(metric string) policy.Scope {
	scopes := Scopes(metric)
	return scopes[len(scopes)-1]
}

func (f *Figures) expose(m policy.Metric, window time.Duration) []Exposed {
	per := finest(m.Name)
	measured := f.Measure(m.Name, window, per)
	if per != PerTable { // which the policy names
		measured = largest(measured, m.Name)
	}
	if per == policy.PerProvider {
		measured = append(measured, f.nameless(m.Name, window, measured))
	}
	var list []Exposed
	for _, s := range measured {
		values := []string{s.Scope}
		if per == PerTable {
			values = []string{f.hub(per, s.Scope), s.Scope}
		}
		if window > 0 {
			values = append(values, policy.FormatDuration(window))
		}
		if ratio(m.Name) && s.Samples == 0 {
			continue
		}
		list = append(list, Exposed{prefix + m.Name, sentence(m.Means), labels(m.Name), values, s.Value})
		if ratio(m.Name) {
			list = append(list, Exposed{prefix + m.Name + samples, "What " + prefix + m.Name + " was made from.", labels(m.Name), values, float64(s.Samples)})
		}
	}
	return list
}

// nameless is what is left for events that name no provider.
func (f *Figures) nameless(metric string, window time.Duration, named []Sample) Sample {
	rest := f.Measure(metric, window, policy.PerPlatform)[0]
	for _, s := range named {
		rest.Value -= s.Value
		rest.Samples -= s.Samples
	}
	return rest
}

// sentence makes a sentence of a few words.
func sentence(words string) string {
	if words == "" {
		return "A metric of the policy."
	}
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:] + "."
}
