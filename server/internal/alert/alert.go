// Package alert measures how things stand and decides whom to notify (spec 000,
// section 11; spec 001, monitoring). Figures of a store become the metrics of the
// policy, the policy's rules compare them, and what follows is one verdict: alerts
// that begin, fire and end, the notices to people, which provider takes over.
//
// Measuring and judging are pure: figures, rules, open alerts, silences and a time
// go in, a [store.Verdict] comes out. It knows no database and no channel, and the
// [Evaluator], which joins them, is run by whoever leads.
package alert

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Sample is the value of a metric for one scope: a hub, a table, a service, a
// provider, or, if it is empty, everything together.
type Sample struct {
	Metric  string
	Scope   string
	Value   float64
	Samples int64 // of a rate or an average, what it was made from
}

// Read gives the samples that a rule looks at, at most one for each scope.
type Read func(rule *policy.Alert) []Sample

// Situation is all that an evaluation depends on.
type Situation struct {
	Policy    *policy.Policy
	Read      Read
	Open      []wire.Alert // those that are not resolved
	Earlier   []wire.Alert // those before them of what holds now and has not been notified
	Silences  []wire.Silence
	Providers []recoup.Provider
	Resolved  map[string]time.Time // when the last alert that switches a provider ended, by provider
	Now       time.Time
	IDs       *recoup.IDSource
}

// evaluation is a situation on its way to a verdict.
type evaluation struct {
	*Situation
	cases   []*subject
	notices []*notice
	verdict store.Verdict
}

// subject is one alert: as it was, and as it will be.
type subject struct {
	rule   *policy.Alert // nil: the policy has it no longer
	before wire.Alert    // the zero alert if it is new
	next   wire.Alert
	few    bool // a rate with too few samples says nothing
}

// Evaluate judges a situation. Judged again with its verdict applied, at the same
// time, nothing changes.
func Evaluate(s Situation) store.Verdict {
	j := &evaluation{Situation: &s}
	j.Now = s.Now.UTC().Truncate(time.Microsecond)
	j.compare()
	j.switchProviders()
	j.notify()
	for _, m := range j.cases {
		if m.next != m.before {
			j.verdict.Alerts = append(j.verdict.Alerts, m.next)
		}
	}
	return j.verdict
}

// key names what has one open alert at most.
type key struct{ rule, scope string }

// compare lets every rule look at its samples. Of what it has no sample of any
// more, and of what no rule speaks of any more, the alert is over. No more alerts
// begin than can be looked at together.
func (j *evaluation) compare() {
	room := store.MaxOpenAlerts - len(j.Open)
	open := make(map[key]wire.Alert, len(j.Open))
	for _, a := range j.Open {
		open[key{a.Rule, a.Scope}] = a
	}
	for i := range j.Policy.Alerts {
		rule := &j.Policy.Alerts[i]
		for _, sample := range j.Read(rule) {
			at := key{rule.Name, sample.Scope}
			if m := j.step(rule, open[at], sample); m != nil && (m.before.State != "" || room > 0) {
				j.cases = append(j.cases, m)
				if m.before.State == "" {
					room--
				}
			}
			delete(open, at)
		}
	}
	left := make([]wire.Alert, 0, len(open))
	for _, a := range open {
		left = append(left, a)
	}
	slices.SortFunc(left, byRule)
	for _, a := range left {
		m := &subject{rule: j.rule(a.Rule), before: a, next: a}
		j.resolve(m)
		j.cases = append(j.cases, m)
	}
}

func byRule(a, b wire.Alert) int {
	return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Scope, b.Scope))
}

func (j *evaluation) rule(name string) *policy.Alert {
	for i := range j.Policy.Alerts {
		if j.Policy.Alerts[i].Name == name {
			return &j.Policy.Alerts[i]
		}
	}
	return nil
}

// step moves the alert of a rule and a scope on; nil: there is none.
//
// A rate with too few samples begins nothing and says nothing. One that fires
// already goes on firing without a notification while the few that there are still hold, so that
// it does not end and begin again with every sample that comes and goes.
func (j *evaluation) step(rule *policy.Alert, before wire.Alert, s Sample) *subject {
	m := &subject{rule: rule, before: before, next: before, few: few(j.Policy, rule, s.Samples)}
	holds := rule.Compare.Holds(s.Value, rule.Value) && (s.Samples > 0 || !kindOf(j.Policy, rule.Metric).Relative())
	switch {
	case !holds || m.few && before.State != wire.AlertFiring:
		if before.State == "" {
			return nil
		}
		j.resolve(m)
		return m
	case before.State == "":
		m.next = wire.Alert{ID: j.IDs.New(j.Now), Rule: rule.Name, Scope: s.Scope, State: wire.AlertPending, PendingAt: j.Now}
	}
	m.next.Severity, m.next.Action, m.next.Condition = rule.Severity, action(rule, before.Action), rule.Condition()
	m.next.Value, m.next.Samples = s.Value, s.Samples
	if m.next.State == wire.AlertPending && j.Now.Sub(m.next.PendingAt) >= rule.For {
		m.next.State, m.next.FiredAt = wire.AlertFiring, j.Now
	}
	return m
}

// action is what an alert does. One that has paged the platform because there was
// no provider to switch to stays such a one, so that its end is notified as its
// beginning was.
func action(rule *policy.Alert, before wire.AlertAction) wire.AlertAction {
	if rule.Action == wire.SwitchProvider && before == wire.PagePlatformOnCall {
		return before
	}
	return rule.Action
}

// resolve ends an alert, for good. A clock that was set back does not end it
// before it began.
func (j *evaluation) resolve(m *subject) {
	m.next.State, m.next.ResolvedAt = wire.AlertResolved, j.Now
	for _, began := range []time.Time{m.next.PendingAt, m.next.FiredAt} {
		if m.next.ResolvedAt.Before(began) {
			m.next.ResolvedAt = began
		}
	}
}

// few reports whether a rate has too few samples to say anything.
func few(p *policy.Policy, rule *policy.Alert, samples int64) bool {
	return kindOf(p, rule.Metric) == policy.Rate && samples < int64(p.MinSamples)
}

func kindOf(p *policy.Policy, metric string) policy.MetricKind {
	i := slices.IndexFunc(p.Metrics, func(m policy.Metric) bool { return m.Name == metric })
	if i < 0 {
		return ""
	}
	return p.Metrics[i].Kind
}

// silenced reports whether somebody has asked not to hear of an alert for now.
func (j *evaluation) silenced(a *wire.Alert) bool {
	return slices.ContainsFunc(j.Silences, func(s wire.Silence) bool { return s.Covers(a, j.Now) })
}
