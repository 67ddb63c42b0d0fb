package alert_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const people = "people.people_errors"

// row is a rule of the policy: what brings it to its limit, where it does not hold
// yet, and what takes it beyond.
type row struct {
	rule     string
	scope    string
	upTo     func(w *world)
	beyond   func(w *world)
	severity wire.AlertSeverity
	action   wire.AlertAction
	to       string
	page     bool
}

// alertRows are the rows of spec 000, 11.1 and 11.2, of spec 001, and the park
// threshold of spec 000, 9.1.
func alertRows() []row {
	return []row{
		{
			"error-rate", dolHub,
			func(w *world) { w.processed(dol, "import", 100, 5); w.report(5, dol, "NETWORK_TIMEOUT") },
			func(w *world) { w.report(1, dol, "NETWORK_TIMEOUT") },
			wire.AlertWarning, wire.NotifyHubTeam, "dol-filings-team", false,
		},
		{
			"error-rate-high", dolHub,
			func(w *world) { w.processed(dol, "import", 100, 0); w.report(10, dol, "NETWORK_TIMEOUT") },
			func(w *world) { w.report(1, dol, "NETWORK_TIMEOUT") },
			wire.AlertHigh, wire.PageOnCall, "dol-filings-lead", true,
		},
		{
			"park-rate", peopleHub,
			func(w *world) { w.report(5, people, "MISSING_NAME"); w.report(20, people, "NETWORK_TIMEOUT") },
			func(w *world) { w.report(1, people, "MISSING_NAME") },
			wire.AlertWarning, wire.ReviewParkQueue, "people-intelligence-team", false,
		},
		{
			"parked-errors", "",
			func(w *world) { w.report(1000, people, "MISSING_NAME") },
			func(w *world) { w.report(1, people, "MISSING_NAME") },
			wire.AlertHigh, wire.EscalateToPlatform, "platform-team", false,
		},
		{
			"blocking-errors", "",
			func(w *world) { w.report(100, dol, "NETWORK_TIMEOUT"); w.report(9, found, "NETWORK_TIMEOUT") }, // which do not block
			func(w *world) { w.report(1, people, "NETWORK_TIMEOUT") },
			wire.AlertCritical, wire.PagePlatformOnCall, "platform-team", true,
		},
		{
			"retry-exhaustion", peopleHub,
			func(w *world) { w.exhaust(6, 14) },
			func(w *world) { w.exhaust(1, 0) },
			wire.AlertWarning, wire.NotifyHubTeam, "people-intelligence-team", false,
		},
		{
			"ttl-utilization", peopleHub,
			func(w *world) { w.report(1, people, "NETWORK_TIMEOUT"); w.Wait(24 * 24 * time.Hour) },
			func(w *world) { w.Wait(time.Second) },
			wire.AlertWarning, wire.NotifyHubTeam, "people-intelligence-team", false,
		},
		{
			"escalation-rate", peopleHub,
			func(w *world) { w.escalate(w.report(20, people, "MISSING_NAME")[:2]) },
			func(w *world) { w.escalate(w.report(1, people, "MISSING_NAME")) },
			wire.AlertWarning, wire.NotifyHubTeam, "people-intelligence-team", false,
		},
		{
			"request-error-rate", "api",
			func(w *world) { w.processed("", "api", 100, 5); w.processed(dol, "api", 100, 100) },
			func(w *world) { w.processed("", "api", 1, 1) },
			wire.AlertWarning, wire.SlackAlert, "platform-team", false,
		},
		{
			"database-errors", "",
			func(w *world) {
				w.events(9, "DATABASE_ERROR", "")
				w.Wait(59 * time.Second)
				w.events(1, "DATABASE_BUSY", "")
				w.events(50, "NETWORK_TIMEOUT", "")
			},
			func(w *world) { w.events(1, "DATABASE_ERROR", "neon") },
			wire.AlertHigh, wire.PageOnCall, "platform-lead", true,
		},
		{
			"external-service-down", "millionverifier",
			func(w *world) { w.events(20, "VALIDATION_SERVICE_ERROR", "millionverifier") },
			func(w *world) { w.events(1, "UPSTREAM_ERROR", "millionverifier") },
			wire.AlertHigh, wire.SwitchProvider, "platform-team", false,
		},
		{
			"dol-park-threshold", dolHub,
			func(w *world) { w.report(50, dol, "DUPLICATE_COMPANY"); w.report(60, people, "MISSING_NAME") },
			func(w *world) { w.report(1, dol, "DUPLICATE_COMPANY") },
			wire.AlertWarning, wire.NotifyHubTeam, "dol-filings-team", false,
		},
		{
			"nobody-claims", dolHub,
			func(w *world) {
				due := w.report(1, dol, "NETWORK_TIMEOUT")[0].NextRetryAt
				w.Wait(due.Sub(w.Now()) + 10*time.Minute)
			},
			func(w *world) { w.Wait(time.Second) },
			wire.AlertHigh, wire.NotifyHubTeam, "dol-filings-team", false,
		},
	}
}

// exhaust has workers retry errors until so many are spent and the others work.
func (w *world) exhaust(spent, saved int) {
	w.Helper()
	doomed := map[recoup.ID]bool{}
	for i, e := range w.report(spent+saved, people, "QUOTA_EXCEEDED") {
		doomed[e.ID] = i < spent
	}
	for range 20 {
		w.Wait(15 * time.Minute) // the floor of the class
		for _, e := range w.claim(people) {
			if doomed[e.ID] {
				w.act(e.ID, lifecycle.Fail{Token: e.LeaseToken, Failure: lifecycle.Failure{Code: "QUOTA_EXCEEDED", Class: recoup.ClassLongDelay, Category: recoup.Transient}})
				continue
			}
			w.act(e.ID, lifecycle.Succeed{Token: e.LeaseToken})
		}
	}
}

func (w *world) escalate(list []recoup.Error) {
	w.Helper()
	for _, e := range list {
		w.act(e.ID, lifecycle.Escalate{Reason: "nobody knows"})
	}
}

// TestAlertRows takes every rule to its limit and beyond: real reports, results and
// events become metrics, and metrics alerts.
func TestAlertRows(t *testing.T) {
	rows := alertRows()
	names := map[string]bool{}
	for _, r := range rows {
		names[r.rule] = true
	}
	for _, rule := range policy.Default().Alerts {
		if !names[rule.Name] {
			t.Errorf("the rule %s has no row", rule.Name)
		}
	}
	for _, r := range rows {
		t.Run(r.rule, func(t *testing.T) { everywhere(t, r.test) })
	}
}

func (r row) test(w *world) {
	r.upTo(w)
	if open := w.evaluate(); slices.ContainsFunc(open, func(s string) bool { return strings.HasPrefix(s, r.rule+" ") }) {
		w.Fatalf("at its limit it begins: %q", open)
	}
	r.beyond(w)
	if open, want := w.evaluate(), fmt.Sprintf("%s %s FIRING", r.rule, r.scope); !slices.Contains(open, want) {
		w.Fatalf("open are %q, want %q", open, want)
	}
	a := w.alert(r.rule)
	if a.Severity != r.severity || a.Action != r.action || !a.FiredAt.Equal(w.Now()) || a.Notified != 1 {
		w.Errorf("the alert is %+v", a)
	}
	heard := w.heard(r.rule)
	if len(heard) != 1 || heard[0].To != r.to || heard[0].Page != r.page || heard[0].Kind != wire.NoticeAlert {
		w.Fatalf("notified are %+v", heard)
	}
	if changed, err := w.Alerts.Run(w.Context(), w.term()); changed != 0 || err != nil {
		w.Errorf("judged again, %d change: %v", changed, err)
	}
}

// A provider that fails is left, on both stores, and taken again after a quiet hour.
func TestProviderIsSwitched(t *testing.T) {
	everywhere(t, func(w *world) {
		w.events(21, "VALIDATION_SERVICE_ERROR", "millionverifier")
		w.evaluate()
		check := func(want string) {
			w.Helper()
			list, err := w.DB.Providers(w.Context())
			if w.Must(err); len(list) != 1 || list[0].Active != want || list[0].By != recoup.System || list[0].Reason == "" {
				w.Fatalf("in use is %+v, want %s", list, want)
			}
		}
		check("zerobounce")
		w.Wait(5*time.Minute + time.Second)
		if open := w.evaluate(); len(open) != 0 {
			w.Errorf("open are %q", open)
		}
		w.Wait(time.Hour - time.Second)
		w.evaluate()
		check("zerobounce")
		w.Wait(time.Second)
		w.evaluate()
		check("millionverifier")
	})
}

// What an evaluation decides is written by the leader alone, all of it or nothing.
func TestOnlyTheLeaderWrites(t *testing.T) {
	everywhere(t, func(w *world) {
		w.report(101, dol, "NETWORK_TIMEOUT")
		old := w.term()
		w.Wait(2 * time.Hour)
		if _, held, err := w.DB.Lead(w.Context(), store.Bid{Name: "clockwork", Node: "n2", Now: w.Now(), Tenure: time.Hour}); !held || err != nil {
			w.Fatal(held, err)
		}
		if changed, err := w.Alerts.Run(w.Context(), old); changed != 0 || !errors.Is(err, store.ErrRefused) {
			w.Errorf("a leader that slept changes %d: %v", changed, err)
		}
		open, err := w.DB.OpenAlerts(w.Context())
		if w.Must(err); len(open) != 0 || len(w.heard("blocking-errors")) != 0 {
			w.Errorf("open are %+v", open)
		}
	})
}

// A silence in the store is heeded, and over when it is.
func TestStoredSilence(t *testing.T) {
	everywhere(t, func(w *world) {
		act := store.Act{By: "ada", Reason: "known", At: w.Now()}
		_, err := w.DB.AddSilence(w.Context(), wire.Silence{ID: w.ID(), Rule: "blocking-errors", Until: w.Now().Add(time.Hour)}, act)
		w.Must(err)
		w.report(101, dol, "NETWORK_TIMEOUT")
		if open := w.evaluate(); len(open) != 1 || len(w.heard("blocking-errors")) != 0 {
			w.Fatalf("open are %q, notified %+v", open, w.heard("blocking-errors"))
		}
		w.Wait(time.Hour)
		w.evaluate()
		if heard := w.heard("blocking-errors"); len(heard) != 1 {
			w.Errorf("notified %+v", heard)
		}
	})
}

// Whoever heard that a rule holds hears that it is over, also in a silence, and what
// comes back at once is left untold for a while.
func TestStoredEnd(t *testing.T) {
	everywhere(t, func(w *world) {
		fail := func(n int) { w.events(n, "DATABASE_ERROR", "") }
		kinds := func() (began, ended int) {
			list, _, err := w.DB.Notices(w.Context(), wire.NoticeFilter{}, sqldb.Page{Limit: sqldb.MaxPage})
			w.Must(err)
			for _, n := range list {
				switch n.Kind {
				case wire.NoticeAlert:
					began++
				case wire.NoticeAlertResolved:
					ended++
				}
			}
			return began, ended
		}
		want := func(when string, began, ended int) {
			w.Helper()
			w.evaluate()
			if b, e := kinds(); b != began || e != ended {
				w.Errorf("%s: notified to begin %d times and to end %d times, not %d and %d", when, b, e, began, ended)
			}
		}
		fail(11)
		want("it fires", 1, 0)
		_, err := w.DB.AddSilence(w.Context(), wire.Silence{ID: w.ID(), Until: w.Now().Add(2 * time.Minute)}, store.Act{By: "ada", Reason: "known", At: w.Now()})
		w.Must(err)
		w.Wait(90 * time.Second)
		want("it ends while silenced", 1, 1)
		w.Wait(time.Minute)
		fail(11)
		want("it is back within five minutes", 1, 1)
		w.Wait(3 * time.Minute)
		fail(11)
		want("it holds after five minutes", 2, 1)
	})
}

// What comes and goes for as long as its interval is notified at most seven times,
// however often it was not notified in between.
func TestStoredFlapping(t *testing.T) {
	everywhere(t, func(w *world) {
		for range 4 * 60 / 4 {
			w.events(11, "DATABASE_ERROR", "")
			if open := w.evaluate(); len(open) != 1 {
				w.Fatalf("open are %q", open)
			}
			w.Wait(2 * time.Minute)
			if open := w.evaluate(); len(open) != 0 {
				w.Fatalf("open are %q", open)
			}
			w.Wait(2 * time.Minute)
		}
		if n := len(w.heard("database-errors")); n < 4 || n > 7 {
			w.Errorf("in four hours it is notified %d times", n)
		}
	})
}
