package alert_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// What random runs have found once, each as the smallest run that shows it.

// crossed is a rule that anything above zero meets at once, repeated every minute.
func crossed(name string, change ...func(*policy.Alert)) policy.Alert {
	return level(name, append([]func(*policy.Alert){func(a *policy.Alert) { a.Value, a.Repeat = 0, time.Minute }}, change...)...)
}

func switching(a *policy.Alert) { a.Action = wire.SwitchProvider }

// grouped is a scene in which two hubs stand in for each other.
func grouped(rules ...policy.Alert) *scene {
	p := ruled(rules...)
	p.Providers = []policy.ProviderGroup{{Name: "g", Members: []string{dolHub, peopleHub}, BackAfter: 2 * time.Minute}}
	return newScene(p)
}

// Several rules of one scope share a notice; a silence over all of them silences each.
func TestSilenceHoldsForEveryLineOfANotice(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(crossed("a"), crossed("b"), crossed("c")))
	s.few("parked_errors", dolHub, .5, 0)
	s.minute(t)
	heard := len(s.sent)
	s.silences = []wire.Silence{{Until: s.now.Add(time.Minute)}}
	s.minute(t)
	if heard == 0 || len(s.sent) != heard {
		t.Errorf("notified %d times before the silence, %d after", heard, len(s.sent))
	}
}

// An alert that never fired ends without a word when its metric goes away.
func TestEndOfAPendingAlertIsNotNotified(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(crossed("a"), crossed("b")))
	s.few("parked_errors", dolHub, 0, 0)
	s.minute(t)
	s.policy = ruled(crossed("a"), crossed("b", func(a *policy.Alert) { a.Compare, a.For = policy.AtLeast, time.Minute }))
	s.minute(t)
	if a := s.only(t, "b", dolHub); a.State != wire.AlertPending {
		t.Fatalf("it is %s, want pending", a.State)
	}
	clear(s.values)
	s.minute(t)
	if len(s.sent) != 0 || len(s.open()) != 0 {
		t.Errorf("notified %d times; %d are open", len(s.sent), len(s.open()))
	}
}

// When the provider that took over fails too, there is nobody to switch to, however
// often that is judged.
func TestNoSwitchBetweenProvidersThatBothFail(t *testing.T) {
	t.Parallel()
	s := grouped(crossed("a"), crossed("b"), crossed("c"), crossed("d", switching))
	s.few("parked_errors", dolHub, .5, 0)
	s.minute(t)
	s.few("parked_errors", peopleHub, .5, 0)
	s.minute(t)
	s.minute(t)
}

// A provider that goes on failing is switched once.
func TestSwitchHappensOncePerAlert(t *testing.T) {
	t.Parallel()
	s := grouped(crossed("a"), crossed("b", switching))
	s.few("parked_errors", dolHub, .5, 0)
	for range 3 {
		s.minute(t)
	}
	switches := 0
	for _, heard := range s.sent {
		if len(heard.Switches) > 0 {
			switches++
		}
	}
	if switches != 1 {
		t.Errorf("switched %d times", switches)
	}
}

// A condition that is repeated as often as it is judged is notified every time.
func TestRepeatAtEveryEvaluation(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked", func(a *policy.Alert) { a.Repeat = time.Second })))
	s.set("parked_errors", dolHub, 11)
	s.evaluate(t)
	if heard := s.after(t, time.Second); len(heard) != 1 || len(s.sent) != 2 {
		t.Errorf("notified %d times, want 2", len(s.sent))
	}
}
