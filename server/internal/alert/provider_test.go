package alert_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// serving is a scene with one group of providers and the rule of spec 001.
func serving(members ...string) *scene {
	p := ruled(policy.Alert{
		Name: "down", Metric: "external_service_errors", Compare: policy.Above, Value: 20, Window: 5 * time.Minute,
		Per: policy.PerProvider, Severity: wire.AlertHigh, Action: wire.SwitchProvider,
	})
	p.Providers = []policy.ProviderGroup{{Name: "email_validation", Members: members, BackAfter: time.Hour}}
	return newScene(p)
}

func (s *scene) fails(provider string) { s.set("external_service_errors", provider, 21) }
func (s *scene) works(provider string) { s.set("external_service_errors", provider, 0) }

func (s *scene) active() string { return s.providers["email_validation"].Active }

func TestSwitchAndBack(t *testing.T) {
	t.Parallel()
	s := serving("millionverifier", "zerobounce")
	s.fails("millionverifier")
	got := s.after(t, 0)
	fired := s.only(t, "down", "millionverifier")
	if row := s.providers["email_validation"]; row.Active != "zerobounce" || row.By != recoup.System || row.AlertID != fired.ID ||
		row.Reason != "down: external_service_errors > 20 over 5m" || !row.Since.Equal(s.now) {
		t.Fatalf("in use is %+v", row)
	}
	if len(got) != 1 || got[0].To != "platform-team" || got[0].Page || len(got[0].Alerts) != 1 ||
		len(got[0].Switches) != 1 || got[0].Switches[0].From != "millionverifier" || got[0].Switches[0].To != "zerobounce" {
		t.Fatalf("notified %+v", got)
	}
	s.works("millionverifier")
	if s.after(t, 5*time.Minute); s.active() != "zerobounce" || len(s.open()) != 0 {
		t.Fatalf("it goes back at once: %+v", s.providers)
	}
	if s.after(t, time.Hour-time.Second); s.active() != "zerobounce" {
		t.Fatal("it goes back before its time")
	}
	got = s.after(t, time.Second)
	if row := s.providers["email_validation"]; row.Active != "millionverifier" || row.Reason != "back to the first: quiet for 1h" || row.By != recoup.System {
		t.Fatalf("in use is %+v", row)
	}
	if len(got) != 1 || got[0].Kind != wire.NoticeAlertResolved || len(got[0].Alerts) != 0 || got[0].Switches[0].To != "millionverifier" {
		t.Errorf("notified %+v", got)
	}
	if got := s.after(t, time.Hour); len(got) != 0 {
		t.Errorf("notified %+v", got)
	}
}

// Quiet means that nothing was wrong with any member for the whole time.
func TestQuietBeginsAnew(t *testing.T) {
	t.Parallel()
	s := serving("a", "b", "c")
	s.fails("a")
	s.after(t, 0)
	s.works("a")
	s.after(t, time.Minute)
	s.after(t, 50*time.Minute)
	s.fails("c") // which nobody uses
	s.after(t, time.Minute)
	s.works("c")
	if s.after(t, 30*time.Minute); s.active() != "b" {
		t.Fatalf("%s is in use", s.active())
	}
	if s.after(t, time.Hour-time.Second); s.active() != "b" {
		t.Fatalf("%s is in use", s.active())
	}
	if s.after(t, time.Second); s.active() != "a" {
		t.Fatalf("%s is in use", s.active())
	}
}

// The next in order takes over that does not fail itself, round and round.
func TestNextMember(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		failing []string
		from    string
		to      string
	}{
		{[]string{"a"}, "", "b"}, {[]string{"a", "b"}, "", "c"}, {[]string{"b"}, "b", "c"}, {[]string{"b", "c"}, "b", "a"},
		{[]string{"c"}, "c", "a"}, {[]string{"b", "c"}, "", ""},
	} {
		s := serving("a", "b", "c")
		if row.from != "" {
			s.providers["email_validation"] = recoup.Provider{Group: "email_validation", Active: row.from, Since: epoch.Add(-time.Hour), By: "ada"}
		}
		for _, provider := range row.failing {
			s.fails(provider)
		}
		v := s.evaluate(t)
		switch {
		case row.to == "" && len(v.Switches) == 0:
		case len(v.Switches) != 1 || v.Switches[0].From != row.from || v.Switches[0].To != row.to:
			t.Errorf("%v failing, %q in use: %+v", row.failing, row.from, v.Switches)
		}
	}
}

// Where nobody is left, the platform is paged: for the beginning and the end.
func TestNobodyLeft(t *testing.T) {
	t.Parallel()
	s := serving("a", "b")
	s.fails("a")
	s.after(t, 0)
	s.fails("b")
	got := s.after(t, time.Minute)
	if s.active() != "b" || len(got) != 1 || !got[0].Page || got[0].To != "platform-team" || got[0].Alerts[0].Scope != "b" {
		t.Fatalf("%s is in use, notified %+v", s.active(), got)
	}
	if v := s.evaluate(t); len(v.Alerts)+len(v.Notices)+len(v.Switches) != 0 {
		t.Errorf("again: %+v", v)
	}
	s.works("a") // and can take over
	got = s.after(t, time.Minute)
	if s.active() != "a" || len(got) != 2 || got[0].Page || got[0].Switches[0].To != "a" {
		t.Fatalf("%s is in use, notified %+v", s.active(), got)
	}
	s.works("b")
	got = s.after(t, time.Minute)
	if len(got) != 1 || !got[0].Page || got[0].Kind != wire.NoticeAlertResolved || got[0].Alerts[0].Scope != "b" {
		t.Errorf("notified %+v", got)
	}
}

// What a person has switched stays so: neither the alert that they knew of nor a
// quiet hour moves it.
func TestByHand(t *testing.T) {
	t.Parallel()
	s := serving("a", "b")
	s.fails("a")
	s.after(t, 0)
	s.now = s.now.Add(time.Minute)
	s.providers["email_validation"] = recoup.Provider{Group: "email_validation", Active: "a", Since: s.now, By: "ada", Reason: "b costs too much"}
	if s.after(t, time.Minute); s.active() != "a" {
		t.Fatal("the alert that she knew of switches again")
	}
	s.works("a")
	s.after(t, time.Minute)
	s.fails("a")
	if s.after(t, time.Minute); s.active() != "b" {
		t.Fatal("another alert does not switch")
	}
	s.works("a")
	s.providers["email_validation"] = recoup.Provider{Group: "email_validation", Active: "b", Since: s.now, By: "ada", Reason: "a is too slow"}
	s.after(t, 5*time.Minute)
	if s.after(t, 100*time.Hour); s.active() != "b" {
		t.Error("a quiet time undoes what a person did")
	}
}

// A silenced alert switches all the same; of the switch, not of the alert, people
// are notified.
func TestSilencedSwitch(t *testing.T) {
	t.Parallel()
	s := serving("a", "b")
	s.silences = []wire.Silence{{Scope: "a", Until: epoch.Add(time.Hour)}}
	s.fails("a")
	got := s.after(t, 0)
	if s.active() != "b" || len(got) != 1 || len(got[0].Alerts) != 0 || len(got[0].Switches) != 1 {
		t.Errorf("%s is in use, notified %+v", s.active(), got)
	}
}

// Without a quiet time only people switch back, and a provider that has left the
// policy is not in use any more.
func TestGroupsThatChange(t *testing.T) {
	t.Parallel()
	s := serving("a", "b")
	s.policy.Providers[0].BackAfter = 0
	s.fails("a")
	s.after(t, 0)
	s.works("a")
	s.after(t, time.Minute)
	if s.after(t, 1000*time.Hour); s.active() != "b" {
		t.Fatal("it goes back by itself")
	}
	s.policy.Providers[0].Members = []string{"x", "y"}
	s.fails("x")
	if v := s.evaluate(t); len(v.Switches) != 1 || v.Switches[0].From != "b" || v.Switches[0].To != "y" {
		t.Errorf("switches are %+v", v.Switches)
	}
}
