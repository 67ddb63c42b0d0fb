package alert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The hubs of spec 000.
const (
	dolHub    = "dol-filings"
	peopleHub = "people-intelligence"
)

func TestAlertGoesThroughItsStates(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked", func(a *policy.Alert) { a.For = 10 * time.Minute })))
	s.set("parked_errors", dolHub, 10)
	if got := s.after(t, 0); len(got)+len(s.alerts) != 0 {
		t.Fatalf("at its limit it begins: %+v", s.alerts)
	}
	s.set("parked_errors", dolHub, 11)
	if got := s.after(t, time.Minute); len(got) != 0 {
		t.Fatalf("a pending alert is notified: %+v", got)
	}
	pending := s.only(t, "parked", dolHub)
	if pending.State != wire.AlertPending || pending.Condition != "parked_errors > 10 for 10m" || pending.Value != 11 || !pending.PendingAt.Equal(s.now) {
		t.Errorf("pending is %+v", pending)
	}
	s.set("parked_errors", dolHub, 12)
	if got := s.after(t, 9*time.Minute+59*time.Second); len(got) != 0 || s.only(t, "parked", dolHub).State != wire.AlertPending {
		t.Fatalf("it fires before its time: %+v", got)
	}
	got := s.after(t, time.Second)
	fired := s.only(t, "parked", dolHub)
	if fired.State != wire.AlertFiring || fired.ID != pending.ID || !fired.FiredAt.Equal(s.now) || fired.Value != 12 || fired.Notified != 1 {
		t.Errorf("firing is %+v", fired)
	}
	if len(got) != 1 || got[0].Kind != wire.NoticeAlert || got[0].To != "dol-filings-team" || got[0].Key != "alert:"+fired.ID.String()+":1" || got[0].Page {
		t.Fatalf("notified %+v", got)
	}
	if l := got[0].Alerts; len(l) != 1 || l[0].Rule != "parked" || l[0].Scope != dolHub || l[0].Value != 12 || !l[0].Since.Equal(pending.PendingAt) || l[0].Notified != 1 {
		t.Errorf("the notice lists %+v", l)
	}
	s.set("parked_errors", dolHub, 3)
	got = s.after(t, time.Minute)
	over := s.alerts[fired.ID]
	if over.State != wire.AlertResolved || !over.ResolvedAt.Equal(s.now) || over.Value != 12 || len(s.open()) != 0 {
		t.Errorf("over is %+v", over)
	}
	if len(got) != 1 || got[0].Kind != wire.NoticeAlertResolved || got[0].Key != "alert:"+fired.ID.String()+":resolved" || !got[0].Alerts[0].Until.Equal(s.now) {
		t.Errorf("notified %+v", got)
	}
	if again := s.after(t, time.Minute); len(again) != 0 {
		t.Errorf("its end is notified twice: %+v", again)
	}
}

// Whoever is not notified of the beginning is not notified of the end.
func TestPendingEndsUntold(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked", func(a *policy.Alert) { a.For = time.Hour })))
	s.set("parked_errors", dolHub, 11)
	s.after(t, 0)
	id := s.only(t, "parked", dolHub).ID
	s.set("parked_errors", dolHub, 1)
	if got := s.after(t, time.Minute); len(got) != 0 || s.alerts[id].State != wire.AlertResolved || !s.alerts[id].FiredAt.IsZero() {
		t.Errorf("notified %+v, the alert is %+v", got, s.alerts[id])
	}
}

// The scopes of a rule stand alone; those of one recipient are notified together.
func TestGrouping(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked"), level("blocking", func(a *policy.Alert) { a.Metric = "blocking_errors" })))
	s.set("parked_errors", dolHub, 11)
	s.set("blocking_errors", dolHub, 11)
	s.set("parked_errors", peopleHub, 11)
	got := s.after(t, 0)
	if len(got) != 2 || len(s.open()) != 3 {
		t.Fatalf("notified %+v of %+v", got, s.open())
	}
	if got[0].To != "dol-filings-team" || len(got[0].Alerts) != 2 || got[1].To != "people-intelligence-team" || len(got[1].Alerts) != 1 {
		t.Errorf("notified %+v", got)
	}
	s.set("blocking_errors", dolHub, 1)
	got = s.after(t, 4*time.Hour)
	if len(got) != 3 || len(got[0].Alerts) != 1 || got[0].Kind != wire.NoticeAlert || got[0].Alerts[0].Notified != 2 || got[2].Kind != wire.NoticeAlertResolved {
		t.Errorf("notified %+v", got)
	}
}

// Whoever is woken is not woken for what can wait.
func TestPagesStandAlone(t *testing.T) {
	t.Parallel()
	s := newScene(policy.Default())
	s.set("parked_errors", "", 1001)
	s.set("blocking_errors", "", 101)
	got := s.after(t, 0)
	if len(got) != 2 || got[0].To != got[1].To || got[0].Page == got[1].Page {
		t.Errorf("notified %+v", got)
	}
}

// A notice stays short, however much happens at once.
func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	rule := policy.Alert{Name: "requests", Metric: "request_error_rate", Compare: policy.Above, Value: .05, Window: 5 * time.Minute,
		Per: policy.PerService, Severity: wire.AlertWarning, Action: wire.SlackAlert}
	s := newScene(ruled(rule))
	for i := range 60 {
		s.set("request_error_rate", fmt.Sprintf("service-%02d", i), 1)
	}
	got := s.after(t, 0)
	if len(got) != 1 || len(got[0].Alerts) != 50 || got[0].More != 10 || got[0].To != "platform-team" {
		t.Errorf("notified %d notices: %+v", len(got), got)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked")))
	s.set("parked_errors", dolHub, 11)
	s.set("parked_errors", peopleHub, 11)
	s.silences = []wire.Silence{{Rule: "parked", Scope: dolHub, Until: epoch.Add(time.Hour)}}
	if got := s.after(t, 0); len(got) != 1 || got[0].To != "people-intelligence-team" {
		t.Fatalf("notified %+v", got)
	}
	if a := s.only(t, "parked", dolHub); a.State != wire.AlertFiring || a.Notified != 0 {
		t.Errorf("a silenced alert does not fire: %+v", a)
	}
	if got := s.after(t, 59*time.Minute); len(got) != 0 {
		t.Errorf("notified %+v", got)
	}
	if got := s.after(t, time.Minute); len(got) != 1 || got[0].To != "dol-filings-team" || got[0].Alerts[0].Notified != 1 {
		t.Errorf("after the silence: %+v", got)
	}
	s.silences[0].Until = s.now.Add(24 * time.Hour)
	s.values = map[point]alert.Sample{}
	if got := s.after(t, time.Minute); len(got) != 2 || got[0].Kind != wire.NoticeAlertResolved || got[1].Kind != wire.NoticeAlertResolved || len(s.open()) != 0 {
		t.Errorf("who heard that it fires hears that it is over, silenced or not: %+v", got)
	}
}

// Of what nobody heard the beginning, because it was silenced, nobody hears the end.
func TestSilencedFromItsBeginning(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked")))
	s.set("parked_errors", dolHub, 11)
	s.silences = []wire.Silence{{Until: epoch.Add(time.Hour)}}
	s.evaluate(t)
	s.set("parked_errors", dolHub, 0)
	if got := s.after(t, time.Minute); len(got) != 0 || len(s.open()) != 0 {
		t.Errorf("notified %+v", got)
	}
}

// What comes and goes every two minutes is notified again after 5, 10, 20, 40 and 80
// minutes, and never more than seven times within its interval; what comes back after
// its interval is notified at once.
func TestFlapping(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked", func(a *policy.Alert) { a.Repeat = 4 * time.Hour })))
	var beginnings []time.Duration
	ends := 0
	for minute := range 12 * 60 {
		s.now = epoch.Add(time.Duration(minute) * time.Minute)
		s.set("parked_errors", dolHub, float64(11*(1-minute/2%2)))
		from := len(s.sent)
		s.evaluate(t)
		for _, heard := range s.sent[from:] {
			if heard.Kind == wire.NoticeAlert {
				beginnings = append(beginnings, s.now.Sub(epoch))
			} else {
				ends++
			}
		}
	}
	if len(beginnings) < 8 || ends != len(beginnings) || slices.ContainsFunc(beginnings[7:], func(at time.Duration) bool {
		return at-beginnings[slices.Index(beginnings, at)-7] < 4*time.Hour
	}) {
		t.Errorf("in twelve hours it is notified to begin at %v, and to end %d times", beginnings, ends)
	}
	for i, rest := range []time.Duration{5, 10, 20, 40, 80} {
		if got := beginnings[i+1] - beginnings[i]; got < rest*time.Minute || got > rest*time.Minute+4*time.Minute {
			t.Errorf("after the time %d it rests for %v, not %dm", i+1, got, rest)
		}
	}
	s.set("parked_errors", dolHub, 0)
	s.evaluate(t)
	s.set("parked_errors", dolHub, 11)
	if got := s.after(t, 5*time.Hour); len(got) != 1 || got[0].Kind != wire.NoticeAlert {
		t.Errorf("hours later: %+v", got)
	}
}

// What was notified before a silence is notified again when its interval is over.
func TestRepeatAfterSilence(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked")))
	s.set("parked_errors", dolHub, 11)
	s.after(t, 0)
	s.silences = []wire.Silence{{Until: epoch.Add(5 * time.Hour)}, {Until: epoch.Add(9 * time.Hour), EndedAt: epoch}}
	for _, step := range []struct {
		after   time.Duration
		notices int
	}{{4 * time.Hour, 0}, {time.Hour, 1}, {4*time.Hour - time.Second, 0}, {time.Second, 1}} {
		if got := s.after(t, step.after); len(got) != step.notices {
			t.Errorf("at %s: notified %+v", s.now.Sub(epoch), got)
		}
	}
}

// A rate with too few samples says nothing: it begins nothing, ends what is only
// pending, and what fires goes on untold while the few that there are still hold.
func TestFewSamples(t *testing.T) {
	t.Parallel()
	rate := policy.Alert{Name: "rate", Metric: "park_rate", Compare: policy.Above, Value: .2, Window: 24 * time.Hour,
		Per: policy.PerHub, Severity: wire.AlertWarning, Action: wire.ReviewParkQueue}
	later := rate
	later.Name, later.For = "later", time.Hour
	s := newScene(ruled(rate, later))
	s.few("park_rate", dolHub, 1, 19)
	if s.after(t, 0); len(s.alerts) != 0 {
		t.Fatalf("19 samples begin %+v", s.open())
	}
	s.few("park_rate", dolHub, 1, 20)
	if got := s.after(t, time.Minute); len(got) != 1 || len(s.open()) != 2 || got[0].Alerts[0].Hint != "review the park queue: recoup errors list --parked --hub dol-filings" {
		t.Fatalf("20 samples: notified %+v", got)
	}
	s.few("park_rate", dolHub, .5, 3)
	if got := s.after(t, 5*time.Hour); len(got) != 0 || len(s.open()) != 1 || s.only(t, "rate", dolHub).State != wire.AlertFiring {
		t.Fatalf("notified %+v, open are %+v", got, s.open())
	}
	s.few("park_rate", dolHub, .1, 3)
	if got := s.after(t, time.Minute); len(got) != 1 || got[0].Kind != wire.NoticeAlertResolved || len(s.open()) != 0 {
		t.Errorf("notified %+v, open are %+v", got, s.open())
	}
}

// Without any sample nothing is known, and what fired is over; so it is when the
// rate does not hold because there is nothing to hold it.
func TestNoSamples(t *testing.T) {
	t.Parallel()
	below := policy.Alert{Name: "idle", Metric: "park_rate", Compare: policy.Below, Value: .2, Window: 24 * time.Hour, Per: policy.PerHub, Action: wire.NotifyHubTeam}
	for name, left := range map[string]func(*scene){
		"none":    func(s *scene) { s.few("park_rate", dolHub, 0, 0) },
		"unknown": func(s *scene) { clear(s.values) },
	} {
		s := newScene(ruled(below))
		s.set("park_rate", dolHub, .1)
		s.after(t, 0)
		left(s)
		if got := s.after(t, time.Minute); len(s.open()) != 0 || len(got) != 1 {
			t.Errorf("%s: open are %+v", name, s.open())
		}
	}
}

// A rule that leaves the policy takes its alerts with it, and those who were notified
// hear of it.
func TestRuleThatIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked"), level("other", func(a *policy.Alert) { a.Value = 5 })))
	s.set("parked_errors", dolHub, 11)
	s.after(t, 0)
	s.policy = ruled(level("other", func(a *policy.Alert) { a.Value, a.Severity = 7, wire.AlertHigh }))
	got := s.after(t, time.Minute)
	if len(got) != 1 || got[0].To != "dol-filings-team" || got[0].Kind != wire.NoticeAlertResolved || got[0].Alerts[0].Rule != "parked" {
		t.Errorf("notified %+v", got)
	}
	if a := s.only(t, "other", dolHub); a.Condition != "parked_errors > 7" || a.Severity != wire.AlertHigh {
		t.Errorf("a changed rule leaves %+v", a)
	}
}

// Who hears of what, by the actions of spec 000, 11.2 and spec 001.
func TestRecipients(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		action wire.AlertAction
		per    policy.Scope
		scope  string
		to     string
		page   bool
	}{
		{wire.NotifyHubTeam, policy.PerHub, dolHub, "dol-filings-team", false},
		{wire.PageOnCall, policy.PerHub, dolHub, "dol-filings-lead", true},
		{wire.PageOnCall, policy.PerPlatform, "", "platform-lead", true},
		{wire.PageOnCall, policy.PerService, dolHub, "platform-lead", true}, // a service of that name is no hub
		{wire.ReviewParkQueue, policy.PerHub, peopleHub, "people-intelligence-team", false},
		{wire.ReviewParkQueue, policy.PerPlatform, "", "platform-team", false},
		{wire.EscalateToPlatform, policy.PerPlatform, "", "platform-team", false},
		{wire.EscalateToPlatform, policy.PerHub, dolHub, "platform-team", false},
		{wire.PagePlatformOnCall, policy.PerPlatform, "", "platform-team", true},
		{wire.SlackAlert, policy.PerService, "api", "platform-team", false},
		{wire.SwitchProvider, policy.PerProvider, "nobody's", "platform-team", false},
	} {
		s := newScene(ruled(level("r", func(a *policy.Alert) { a.Action, a.Per = row.action, row.per })))
		s.set("parked_errors", row.scope, 11)
		got := s.after(t, 0)
		if len(got) != 1 || got[0].To != row.to || got[0].Page != row.page {
			t.Errorf("%s per %s: notified %+v", row.action, row.per, got)
		}
	}
}

// A clock that was set back ends nothing before it began.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked")))
	s.set("parked_errors", dolHub, 11)
	s.after(t, 0)
	id := s.only(t, "parked", dolHub).ID
	clear(s.values)
	s.after(t, -time.Hour)
	if a := s.alerts[id]; a.State != wire.AlertResolved || a.ResolvedAt.Before(a.FiredAt) {
		t.Errorf("the alert is %+v", a)
	}
}

// As many alerts as are looked at together, and no more, are open.
func TestOpenAlertsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScene(ruled(level("parked", func(a *policy.Alert) { a.Per = policy.PerService })))
	for i := range store.MaxOpenAlerts + 5 {
		s.set("parked_errors", fmt.Sprintf("s%05d", i), 11)
	}
	s.after(t, 0)
	s.after(t, time.Minute)
	if n := len(s.open()); n != store.MaxOpenAlerts {
		t.Errorf("%d are open", n)
	}
}

func TestDefaultRulesAreMeasurable(t *testing.T) {
	t.Parallel()
	for _, rule := range policy.Default().Alerts {
		var scopes []string
		for _, s := range alert.Scopes(rule.Metric) {
			scopes = append(scopes, string(s))
		}
		if !strings.Contains(strings.Join(scopes, " "), string(rule.Per)) {
			t.Errorf("%s: %s cannot be measured per %s", rule.Name, rule.Metric, rule.Per)
		}
	}
}
