package alert

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Trial tries rules on made-up values, in made-up time.
type Trial struct {
	Policy   *policy.Policy
	Step     time.Duration // between evaluations
	Series   []Series
	Silences []Hush
}

// Series is a metric of one scope over time, one point for each evaluation. After
// the last it stays as it is.
type Series struct {
	Metric string
	Scope  string
	Window time.Duration // only for rules with this window; zero: for all
	Points []Point
}

// Point is a value and what it was made of.
type Point struct {
	Value   float64
	Samples int64
	Missing bool // there is none
}

// Hush is a silence, counted from the beginning of a trial.
type Hush struct {
	Rule, Scope string
	From, Until time.Duration
}

// Scene is how things stand after one evaluation.
type Scene struct {
	At        time.Duration
	Open      []wire.Alert // by rule and scope
	Notified  []Heard      // at this moment
	Providers map[string]string
}

// Heard is a notice as its recipient reads it.
type Heard struct {
	Kind wire.NoticeKind
	To   string
	Body
}

// trialBegin is midnight, so that days are whole.
var trialBegin = time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)

// Feeds reports whether a rule looks at a series.
func (s *Series) Feeds(rule *policy.Alert) bool {
	return s.Metric == rule.Metric && (s.Window == 0 || s.Window == rule.Window) &&
		(s.Scope == "") == (rule.Per == policy.PerPlatform) && (rule.Hub == "" || rule.Hub == s.Scope)
}

// at is the point of an evaluation; false: nothing is known then.
func (s *Series) at(n int) (Sample, bool) {
	if len(s.Points) == 0 {
		return Sample{}, false
	}
	p := s.Points[min(n, len(s.Points)-1)]
	return Sample{Metric: s.Metric, Scope: s.Scope, Value: p.Value, Samples: p.Samples}, !p.Missing
}

// Run evaluates from the beginning until a time, and shows every scene.
func (t *Trial) Run(until time.Duration, show func(Scene)) error {
	ids := recoup.NewIDSource(rand.NewChaCha8([32]byte{}))
	s := Situation{Policy: t.Policy, IDs: ids, Resolved: map[string]time.Time{}}
	providers := map[string]recoup.Provider{}
	for n := 0; time.Duration(n)*t.Step <= until; n++ {
		at := time.Duration(n) * t.Step
		s.Now, s.Silences = trialBegin.Add(at), t.silences(at)
		s.Read = func(rule *policy.Alert) []Sample { return t.read(rule, n) }
		s.Providers = slices.Collect(maps.Values(providers))
		v := Evaluate(s)
		if err := s.apply(v, providers); err != nil {
			return fmt.Errorf("at %s: %w", at, err)
		}
		scene := Scene{At: at, Open: slices.Clone(s.Open), Providers: map[string]string{}}
		for i := range t.Policy.Providers {
			group := &t.Policy.Providers[i]
			scene.Providers[group.Name], _ = InUse(group, slices.Collect(maps.Values(providers)))
		}
		for _, n := range v.Notices {
			heard := Heard{Kind: n.Kind, To: n.To}
			if err := json.Unmarshal([]byte(n.Body), &heard.Body); err != nil {
				return err
			}
			scene.Notified = append(scene.Notified, heard)
		}
		show(scene)
	}
	return nil
}

func (t *Trial) read(rule *policy.Alert, n int) []Sample {
	var list []Sample
	for i := range t.Series {
		series := &t.Series[i]
		if sample, known := series.at(n); known && series.Feeds(rule) {
			list = append(list, sample)
		}
	}
	return list
}

func (t *Trial) silences(at time.Duration) []wire.Silence {
	var list []wire.Silence
	for _, h := range t.Silences {
		if at >= h.From {
			list = append(list, wire.Silence{Rule: h.Rule, Scope: h.Scope, Until: trialBegin.Add(h.Until)})
		}
	}
	return list
}

// apply makes a verdict so.
func (s *Situation) apply(v store.Verdict, providers map[string]recoup.Provider) error {
	for _, a := range v.Alerts {
		s.Open = slices.DeleteFunc(s.Open, func(o wire.Alert) bool { return o.ID == a.ID })
		if a.State != wire.AlertResolved {
			s.Open = append(s.Open, a)
			continue
		}
		s.Earlier = append(s.Earlier, a)
		if a.ResolvedAt.After(s.Resolved[a.Scope]) {
			s.Resolved[a.Scope] = a.ResolvedAt
		}
	}
	slices.SortFunc(s.Open, byRule)
	for _, w := range v.Switches {
		next, _, err := w.Apply(providers[w.Group], v.Act(w, s.Now))
		if err != nil {
			return err
		}
		providers[w.Group] = next
	}
	return nil
}
