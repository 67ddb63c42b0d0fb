package alert_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// drawRules draws a few rules over two metrics, one of them a rate.
func drawRules(t *rapid.T) []policy.Alert {
	rules := make([]policy.Alert, rapid.IntRange(1, 4).Draw(t, "rules"))
	for i := range rules {
		rules[i] = policy.Alert{
			Name:   string(rune('a' + i)),
			Metric: rapid.SampledFrom([]string{"parked_errors", "park_rate", "external_service_errors"}).Draw(t, "metric"),
			Compare: rapid.SampledFrom([]policy.Comparison{policy.Above, policy.AtLeast, policy.Below, policy.AtMost}).
				Draw(t, "compare"),
			Value:  rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "limit"),
			For:    time.Duration(rapid.IntRange(0, 3).Draw(t, "for")) * time.Minute,
			Repeat: time.Duration(rapid.IntRange(1, 6).Draw(t, "repeat")) * time.Minute,
			Per:    policy.PerHub, Severity: wire.AlertHigh,
			Action: rapid.SampledFrom([]wire.AlertAction{wire.NotifyHubTeam, wire.PageOnCall, wire.SwitchProvider}).Draw(t, "action"),
		}
	}
	return rules
}

// TestAnything lets values, samples, rules and silences change at random, and holds
// what follows to what must never be otherwise.
func TestAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := ruled(drawRules(t)...)
		scopes := []string{dolHub, peopleHub}
		p.Providers = []policy.ProviderGroup{{Name: "g", Members: scopes, BackAfter: 2 * time.Minute}}
		s := newScene(p)
		for range rapid.IntRange(1, 30).Draw(t, "minutes") {
			s.disturb(t, scopes)
			s.minute(t)
		}
	})
}

// disturb changes some of what an evaluation sees.
func (s *scene) disturb(t *rapid.T, scopes []string) {
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		scope := rapid.SampledFrom(scopes).Draw(t, "scope")
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			s.silences = append(s.silences, wire.Silence{
				Rule:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "silenced rule"),
				Scope: rapid.SampledFrom([]string{"", scope}).Draw(t, "silenced scope"),
				Until: s.now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "silent")) * time.Minute),
			})
		case 1:
			s.silences = nil
		case 2:
			s.policy = ruled(drawRules(t)...)
		case 3:
			clear(s.values)
		default:
			metric := rapid.SampledFrom([]string{"parked_errors", "park_rate", "external_service_errors"}).Draw(t, "metric")
			s.few(metric, scope, rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "value"), rapid.SampledFrom([]int64{0, 19, 20, 1000}).Draw(t, "samples"))
		}
	}
}

// minute judges once and checks everything.
func (s *scene) minute(t failer) {
	t.Helper()
	before := s.copies()
	from := len(s.sent)
	s.evaluate(t)
	seen := map[point]bool{}
	for _, a := range s.open() {
		at := point{a.Rule, a.Scope}
		if seen[at] {
			t.Fatalf("two alerts of %v are open", at)
		}
		seen[at] = true
	}
	for id, a := range before {
		if a.State == wire.AlertResolved && s.alerts[id] != a {
			t.Fatalf("a resolved alert has changed: %+v to %+v", a, s.alerts[id])
		}
	}
	keys := map[string]bool{}
	for i, heard := range s.sent {
		if keys[heard.Key] {
			t.Fatalf("%s is notified twice", heard.Key)
		}
		keys[heard.Key] = true
		if i >= from {
			s.mayHear(t, heard)
		}
	}
	again := s.evaluate(t)
	if len(again.Alerts)+len(again.Notices)+len(again.Switches) != 0 {
		t.Fatalf("judged again: %+v", again)
	}
	s.now = s.now.Add(time.Minute)
}

// mayHear holds a beginning to the silences, and an end to its beginning.
func (s *scene) mayHear(t failer, heard received) {
	t.Helper()
	for _, line := range heard.Alerts {
		a := s.alerts[line.ID]
		for _, silence := range s.silences {
			if heard.Kind == wire.NoticeAlert && silence.Covers(&a, s.now) {
				t.Fatalf("notified while silenced: %+v", line)
			}
		}
		if heard.Kind == wire.NoticeAlertResolved && (a.Notified == 0 || a.State != wire.AlertResolved) {
			t.Fatalf("its end is notified: %+v", a)
		}
		if heard.Kind == wire.NoticeAlert && a.State != wire.AlertFiring {
			t.Fatalf("it is notified as firing: %+v", a)
		}
	}
}

func (s *scene) copies() map[recoup.ID]wire.Alert {
	list := map[recoup.ID]wire.Alert{}
	for id, a := range s.alerts {
		list[id] = a
	}
	return list
}

// A condition that holds all the time is notified once in every interval.
func TestSteadyConditionIsRepeated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := time.Duration(rapid.IntRange(1, 20).Draw(t, "step")) * time.Second
		repeat := step * time.Duration(rapid.IntRange(1, 20).Draw(t, "repeat"))
		duration := step * time.Duration(rapid.IntRange(1, 200).Draw(t, "duration"))
		s := newScene(ruled(level("parked", func(a *policy.Alert) { a.Repeat = repeat })))
		s.set("parked_errors", dolHub, 11)
		for ; s.now.Before(epoch.Add(duration)); s.now = s.now.Add(step) {
			s.evaluate(t)
		}
		if want := int((duration + repeat - 1) / repeat); len(s.sent) != want {
			t.Fatalf("notified %d times in %s, want %d times, every %s", len(s.sent), duration, want, repeat)
		}
	})
}
