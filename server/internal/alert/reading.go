package alert

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Reading is a metric as it stands, beside the threshold that the policy gives it
// (spec 000, 11.1).
type Reading struct {
	Sample
	Per       policy.Scope
	Hub       string // of a hub or a table
	Window    time.Duration
	Threshold float64 // zero: none
	Above     bool
	Few       bool // a rate with too few samples, which says nothing
}

// Readings returns every metric for every scope that it can be measured for. Rates of
// which nothing is known are left out.
func (f *Figures) Readings() []Reading {
	var list []Reading
	for _, m := range exposedMetrics(f.policy) {
		window := Window(f.policy, m.Name)
		for _, per := range Scopes(m.Name) {
			for _, s := range f.Measure(m.Name, window, per) {
				if ratio(m.Name) && s.Samples == 0 {
					continue
				}
				few := m.Kind == policy.Rate && s.Samples < int64(f.policy.MinSamples)
				list = append(list, Reading{
					Sample: s, Per: per, Hub: f.hub(per, s.Scope), Window: window,
					Threshold: m.Threshold, Few: few, Above: m.Threshold > 0 && s.Value > m.Threshold && !few,
				})
			}
		}
	}
	return list
}

// hub names the hub that a reading belongs to, if it belongs to one.
func (f *Figures) hub(per policy.Scope, scope string) string {
	switch per {
	case policy.PerHub:
		return scope
	case PerTable:
		return f.scope(policy.PerHub, scope)
	}
	return ""
}
