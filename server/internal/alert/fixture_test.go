package alert_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var epoch = node.Epoch

// scene plays a store and a clock: what a verdict says becomes so.
type scene struct {
	policy    *policy.Policy
	now       time.Time
	ids       *recoup.IDSource
	values    map[point]alert.Sample
	alerts    map[recoup.ID]wire.Alert
	silences  []wire.Silence
	providers map[string]recoup.Provider
	sent      []received
}

// point is what a value belongs to.
type point struct{ metric, scope string }

// failer is a test, or a case of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// received is a notice as its recipient reads it.
type received struct {
	at time.Time
	wire.Notice
	alert.Body
}

func newScene(p *policy.Policy) *scene {
	return &scene{
		policy: p, now: epoch, ids: recoup.NewIDSource(rand.NewChaCha8([32]byte{1})), values: map[point]alert.Sample{},
		alerts: map[recoup.ID]wire.Alert{}, providers: map[string]recoup.Provider{},
	}
}

// ruled is the default policy with other rules.
func ruled(rules ...policy.Alert) *policy.Policy {
	p := *policy.Default()
	p.Alerts = rules
	for i := range p.Alerts {
		if p.Alerts[i].Repeat == 0 {
			p.Alerts[i].Repeat = p.Repeat
		}
	}
	return &p
}

// set gives a metric a value, of enough samples.
func (s *scene) set(metric, scope string, value float64) { s.few(metric, scope, value, 1000) }

// few gives a metric a value that was made of so many samples.
func (s *scene) few(metric, scope string, value float64, samples int64) {
	s.values[point{metric, scope}] = alert.Sample{Metric: metric, Scope: scope, Value: value, Samples: samples}
}

func (s *scene) read(rule *policy.Alert) []alert.Sample {
	var list []alert.Sample
	for _, p := range slices.SortedFunc(maps.Keys(s.values), func(a, b point) int { return slices.Compare([]string{a.scope}, []string{b.scope}) }) {
		if p.metric == rule.Metric && (rule.Hub == "" || rule.Hub == p.scope) && (p.scope == "") == (rule.Per == policy.PerPlatform) {
			list = append(list, s.values[p])
		}
	}
	return list
}

// open lists the alerts that are not resolved, by rule and scope.
func (s *scene) open() []wire.Alert {
	list := slices.Collect(maps.Values(s.alerts))
	list = slices.DeleteFunc(list, func(a wire.Alert) bool { return a.State == wire.AlertResolved })
	slices.SortFunc(list, func(a, b wire.Alert) int {
		return slices.Compare([]string{a.Rule, a.Scope}, []string{b.Rule, b.Scope})
	})
	return list
}

func (s *scene) situation() alert.Situation {
	resolved := map[string]time.Time{}
	for _, a := range s.alerts {
		if a.ResolvedAt.After(resolved[a.Scope]) {
			resolved[a.Scope] = a.ResolvedAt
		}
	}
	return alert.Situation{
		Policy: s.policy, Read: s.read, Open: s.open(), Silences: s.silences, Now: s.now, IDs: s.ids,
		Providers: slices.Collect(maps.Values(s.providers)), Resolved: resolved,
		Earlier: slices.DeleteFunc(slices.Collect(maps.Values(s.alerts)), func(a wire.Alert) bool { return a.State != wire.AlertResolved }),
	}
}

// evaluate judges and applies, and returns the verdict.
func (s *scene) evaluate(t failer) store.Verdict {
	t.Helper()
	v := alert.Evaluate(s.situation())
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	for _, a := range v.Alerts {
		s.alerts[a.ID] = a
	}
	for _, w := range v.Switches {
		next, _, err := w.Apply(s.providers[w.Group], v.Act(w, s.now))
		if err != nil {
			t.Fatal(err)
		}
		s.providers[w.Group] = next
	}
	for _, n := range v.Notices {
		heard := received{at: s.now, Notice: n}
		if err := json.Unmarshal([]byte(n.Body), &heard.Body); err != nil {
			t.Fatal(err)
		}
		s.sent = append(s.sent, heard)
	}
	return v
}

// after waits, judges, and returns the notices of that time.
func (s *scene) after(t failer, d time.Duration) []received {
	t.Helper()
	s.now = s.now.Add(d)
	before := len(s.sent)
	s.evaluate(t)
	return s.sent[before:]
}

// only returns the one alert of a rule and a scope that is not resolved.
func (s *scene) only(t failer, rule, scope string) wire.Alert {
	t.Helper()
	for _, a := range s.open() {
		if a.Rule == rule && a.Scope == scope {
			return a
		}
	}
	t.Fatalf("there is no alert of %s for %q: %+v", rule, scope, s.open())
	return wire.Alert{}
}

// level is a rule about a number.
func level(name string, change ...func(*policy.Alert)) policy.Alert {
	a := policy.Alert{
		Name: name, Metric: "parked_errors", Compare: policy.Above, Value: 10, Per: policy.PerHub,
		Severity: wire.AlertWarning, Action: wire.NotifyHubTeam,
	}
	for _, c := range change {
		c(&a)
	}
	return a
}
