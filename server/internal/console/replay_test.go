package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// TestReplay proves that a group that is ready is replayed by its preview, and that the
// replay is paused, resumed and cancelled by its page.
func TestReplay(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	letters := died(t, n, 4, nil)
	v := visit(t, n)
	shown := v.signIn(n.Key)
	at := "dead-letters/groups/" + letters[0].GroupID.String()
	v.get(at+"/replay").has(t, "None can be replayed now", "another step comes first: triage")
	v.take(shown, at, "triage", maps.Clone(triage), "Triage 4 dead letters")
	v.take(shown, at, "remediate", maps.Clone(remediate), "Remediate 4 dead letters")
	v.send(shown, "dead-letters/"+letters[3].ErrorID.String()+"/triage", maps.Clone(triage)).has(t, "Triaged 1 dead letter.") // it is not ready then
	for _, d := range letters[:3] {
		v.send(shown, "dead-letters/"+d.ErrorID.String()+"/validate", maps.Clone(validate)).has(t, "Validated 1 dead letter.")
	}
	plan := v.get(at + "/replay")
	plan.has(t, "Replay 3 dead letters?", "another step comes first: remediate")
	form := url.Values{"token": {plan.frozen(t)}, "group": {letters[0].GroupID.String()}, "eligible": {"3"}, "rate": {"fast"}, "canary": {"1"}, "share": {"50"}, "limit": {"20"}, "reason": {"it is back"}}
	if p := v.send(plan, "replays", form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "rate is a number") || p.frozen(t) != form.Get("token") {
		t.Errorf("a rate that is none: %d", p.status)
	}
	form.Set("rate", "5")
	if p := v.send(plan, "replays", url.Values{"reason": {"no preview"}}); p.status < 400 {
		t.Errorf("a replay without a preview: %d", p.status)
	}
	replay := v.send(plan, "replays", form)
	replay.has(t, "The replay has begun: of 3 dead letters.", "0 of 3 dead letters have their result", "Canary: 1", "Share: 2 (50 %)", "it is back", "above 20 % failures")
	v.get("operations").has(t, "1 operation under way", "it is back", `<progress max="3" value="0"`)
	here, _, _ := strings.Cut(replay.path, "?")
	if p := v.send(plan, here+"/pause", url.Values{}); p.status < 400 {
		t.Errorf("a pause without a reason: %d", p.status)
	}
	v.send(plan, here+"/pause", url.Values{"reason": {"lunch"}}).has(t, "The replay is paused.", ">Paused<", "lunch", `title="Not while the replay is paused."`)
	v.send(plan, here+"/resume", url.Values{"reason": {"fed"}}).has(t, "The replay goes on.", ">Running<", "fed")
	v.send(plan, here+"/cancel", url.Values{"reason": {"enough"}}).has(t, "The replay is cancelled.", "enough", "3 cancelled")
	if p := v.send(plan, here+"/resume", url.Values{"reason": {"no"}}); p.status != http.StatusConflict {
		t.Errorf("a cancelled replay is resumed: %d", p.status)
	}
	v.get(here+"?item=SUCCEEDED").has(t, "None of them succeeded.")
	for _, bad := range []string{here + "?from=x", here + "?from=-1", here + "?item=NONE", "replays/x", "replays/" + recoup.ID{1}.String()} {
		if p := v.get(bad); p.status < 400 || p.status >= 500 {
			t.Errorf("%s: %d", bad, p.status)
		}
	}
	r := visit(t, n)
	r.signIn(key(t, n, "reader"))
	r.get(here).has(t, `aria-disabled="true" title="A key of the role reader may only look."`)
}

// TestReplayOfOne proves that one dead letter is replayed by its own page, and that both
// pages say that it has failed as before.
func TestReplayOfOne(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	d := died(t, n, 1, nil)[0]
	v := visit(t, n)
	shown := v.signIn(n.Key)
	one := "dead-letters/" + d.ErrorID.String()
	v.send(shown, one+"/triage", maps.Clone(triage))
	v.send(shown, one+"/remediate", maps.Clone(remediate))
	v.send(shown, one+"/validate", maps.Clone(validate))
	replay := v.send(shown, one+"/replay", url.Values{"reason": {"it is back"}})
	replay.has(t, "The replay has begun: of 1 dead letter.", "All: 1")
	v.get(one).has(t, "whose result comes first", "It is part of a")
	c := n.Client()
	work, err := c.Work.Claim(t.Context(), recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: "criticizer", Stage: "llm"}}, Worker: "w1", WaitSeconds: 30})
	if err != nil || len(work) != 1 {
		t.Fatal(work, err)
	}
	failure := &recoup.StageFailure{Stage: "llm", Class: d.Class, Final: true, LastStack: "none", Context: map[string]any{"attempts": map[string]any{"llm": 1}}, FirstFailureAt: d.FirstFailureAt, LastFailureAt: d.LastFailureAt}
	if _, err := c.Work.Result(t.Context(), recoup.WorkResult{WorkID: work[0].WorkID, LeaseToken: work[0].LeaseToken, Outcome: "fail", Failure: failure}); err != nil {
		t.Fatal(err)
	}
	here, _, _ := strings.Cut(replay.path, "?")
	v.get(here).has(t, "Failed again", "1 of 1 dead letter has its result")
	v.get(one).has(t, "Round 2", "Failed again")
}
