package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// TestFind proves that whatever has an id is found by it, whole or in part, that what could
// be several things is listed, and that an id of nothing is taken for an entity.
func TestFind(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	c := n.Client()
	d := died(t, n, 1, nil)[0]
	e, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-1", Code: "VALIDATION_ERROR", Message: "no such number"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.DeadLetters.Triage(t.Context(), d.ErrorID, recoup.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted}); err == nil {
		if _, err = c.DeadLetters.Remediate(t.Context(), d.ErrorID, recoup.Remediation{Link: "OPS-1", Corrected: "it"}); err == nil {
			_, err = c.DeadLetters.Validate(t.Context(), d.ErrorID, recoup.Validation{Idempotent: true})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DeadLetters.Replay(t.Context(), d.ErrorID, recoup.SingleReplay{Reason: "again"})
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Operations.Create(t.Context(), recoup.NewOperation{Act: recoup.ActReview, Filter: recoup.ErrorFilter{EntityID: "CO-1"}})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, n)
	v.signIn(n.Key)
	for id, page := range map[recoup.ID]string{o.ID: "operations/", e.Error.ID: "errors/", d.ErrorID: "dead-letters/", d.GroupID: "dead-letters/groups/", r.ID: "replays/"} {
		whole := id.String()
		for _, text := range []string{whole, strings.ToUpper(whole), "…" + whole[len(whole)-7:], " " + whole + " "} {
			if p := v.get("find?q=" + url.QueryEscape(text)); p.path != page+whole {
				t.Errorf("%q is found at %s, want %s", text, p.path, page+whole)
			}
		}
	}
	begins := e.Error.ID.String()[:8] // the same minute
	p := v.get("find?q=" + begins)
	p.has(t, "things with", "errors/"+e.Error.ID.String(), "replays/"+r.ID.String(), "errors?entity="+begins)
	const nothing = "0198c0de-0000-7000-8000-000000000001"
	for text, want := range map[string]string{nothing: "errors?entity=" + nothing, "NETWORK_TIMEOUT": "errors?code=NETWORK_TIMEOUT", "CO-1": "errors?entity=CO-1"} {
		if p := v.get("find?q=" + text); p.path != want {
			t.Errorf("%s is found at %s, want %s", text, p.path, want)
		}
	}
}

// TestAlertIsFound proves that an alert is found by its id.
func TestAlertIsFound(t *testing.T) {
	t.Parallel()
	n, a := fired(t, "dol-filings")
	v := visit(t, n)
	v.signIn(n.Key)
	if p := v.get("find?q=" + a.ID.String()); p.path != "alerts/"+a.ID.String() {
		t.Errorf("an alert is found at %s", p.path)
	}
}
