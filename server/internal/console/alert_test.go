package console_test

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// fired runs a node with an alert of a rule that the policy has.
func fired(t *testing.T, scope string) (*live.Node, wire.Alert) {
	t.Helper()
	s := sqlitetest.Open(t)
	clock := time.Now
	now := clock().UTC().Truncate(time.Microsecond)
	a := wire.Alert{
		ID: recoup.NewIDSource(rand.Reader).New(now), Rule: "park-rate", Scope: scope, State: wire.AlertResolved, Severity: "WARNING", Action: "REVIEW_PARK_QUEUE",
		Condition: "park_rate > 20% over 24h", Value: .55, Samples: 40, PendingAt: now, FiredAt: now, ResolvedAt: now,
	}
	term, held, err := s.Lead(t.Context(), store.Bid{Name: "test", Node: "test", Now: now, Tenure: time.Minute})
	if err != nil || !held {
		t.Fatal(held, err)
	}
	over := a
	a.State, a.ResolvedAt = wire.AlertFiring, time.Time{}
	for _, is := range []wire.Alert{a, over} { // over, so that the node has no say in it
		if err := s.SaveAlerts(t.Context(), term, now, store.Verdict{Alerts: []wire.Alert{is}}); err != nil {
			t.Fatal(err)
		}
	}
	return live.On(t, s, app.Options{}), a
}

// TestSilence proves that an alert is silenced by its page, which says by whom, and that the
// silence is ended.
func TestSilence(t *testing.T) {
	t.Parallel()
	n, a := fired(t, "dol-filings")
	v := visit(t, n)
	v.signIn(n.Key)
	v.get("alerts").has(t, "No alert is open.", "Nothing is silenced.")
	v.get("alerts?state=all").has(t, "park-rate", "55 %", "Resolved")
	here := "alerts/" + a.ID.String()
	shown := v.get(here)
	shown.has(t, "park-rate of dol-filings", "park_rate &gt; 20% over 24h", "Nobody: people are notified.", "of 40 samples")
	if p := v.send(shown, here+"/silence", url.Values{"for": {"4h"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "reason is required") {
		t.Errorf("a silence without a reason: %d", p.status)
	}
	if p := v.send(shown, here+"/silence", url.Values{"for": {"900d"}, "reason": {"a long time"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `value="a long time"`) {
		t.Errorf("a silence of 900 days: %d", p.status)
	}
	silenced := v.send(shown, here+"/silence", url.Values{"for": {"4h"}, "reason": {"we move house"}})
	silenced.has(t, "It is silenced", "“we move house”", "first admin")
	list := v.get("alerts")
	list.has(t, "we move house", "dol-filings")
	_, after, _ := strings.Cut(list.body, `action="silences/`)
	end := "silences/" + after[:36] + "/end"
	r := visit(t, n)
	r.signIn(key(t, n, "reader"))
	p := r.get(here)
	p.has(t, `aria-disabled="true" title="A key of the role reader may only look."`)
	if got := r.send(p, end, url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("a reader ends a silence: %d", got.status)
	}
	if p := v.send(shown, end, url.Values{"back": {here}}); !strings.HasPrefix(p.path, here) || !strings.Contains(p.body, "The silence is over.") || !strings.Contains(p.body, "Nobody: people are notified.") {
		t.Errorf("the end of a silence leads to %s (%d)", p.path, p.status)
	}
	v.get("alerts?past=yes").has(t, "ended", "first admin")
	if p := v.get("alerts?state=LOUD"); p.status < 400 || p.status >= 500 {
		t.Errorf("a state that is none: %d", p.status)
	}
	if p := v.send(shown, end, url.Values{"back": {"//evil.example/alerts/"}}); !strings.HasPrefix(p.path, "alerts?") {
		t.Errorf("the end of a silence leads to %s", p.path)
	}
}

// TestHostileAlert proves that what an alert and a silence say is text.
func TestHostileAlert(t *testing.T) {
	t.Parallel()
	const evil = `"><script>alert(1)</script>`
	n, a := fired(t, evil)
	v := visit(t, n)
	shown := v.signIn(n.Key)
	here := "alerts/" + a.ID.String()
	v.send(shown, here+"/silence", url.Values{"for": {"4h"}, "reason": {evil}, "everywhere": {"yes"}}).has(t, "It is silenced")
	for _, path := range []string{here, "alerts?state=all", "alerts?state=all&rule=" + url.QueryEscape(evil), "alerts?past=" + url.QueryEscape(evil)} {
		p := v.get(path)
		if p.status != http.StatusOK || strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s: %d has a script", path, p.status)
		}
	}
	v.get(here).has(t, "&lt;script&gt;alert(1)")
}
