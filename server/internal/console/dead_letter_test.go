package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// died makes dead letters of one group.
func died(t *testing.T, n *live.Node, count int, change func(*recoup.StageFailure)) []recoup.DeadLetter {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var list []recoup.DeadLetter
	for i := range count {
		f := recoup.StageFailure{
			WorkID: recoup.ID{1, byte(i), 15: 1}, Pipeline: "criticizer", Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: true, LastStack: "dial as a@example.org: timeout",
			Context: map[string]any{"attempts": map[string]any{"llm": 5}}, FirstFailureAt: at, LastFailureAt: at,
		}
		if change != nil {
			change(&f)
		}
		d, err := n.Client().DeadLetters.Record(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// forms of the steps, as they are filled in.
var (
	triage    = url.Values{"cause": {"TRANSIENT"}, "stage": {"llm"}, "error_class": {"NETWORK_TIMEOUT"}, "exhausted": {"yes"}}
	remediate = url.Values{"upstream_checked": {"its status page"}, "link": {"OPS-17"}}
	validate  = url.Values{"idempotent": {"yes"}}
)

// open lists the steps whose forms a page has.
func open(p page, at string) string {
	var list []string
	for _, m := range regexp.MustCompile(`<form method="post" action="`+at+`/(\w+)"|class="btn primary" href="`+at+`/(replay)"`).FindAllStringSubmatch(p.body, -1) {
		list = append(list, m[1]+m[2])
	}
	return strings.Join(list, " ")
}

// frozen is the token of the set that a preview has frozen.
func (p page) frozen(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`name="token" value="([^"]*)"`).FindStringSubmatch(p.body)
	if found == nil {
		t.Fatalf("page %s (%d) has no token:\n%.3000s", p.path, p.status, p.body)
	}
	return html.UnescapeString(found[1])
}

// take takes a step of a group by its form, its preview and its confirmation.
func (v *visitor) take(from page, at, step string, form url.Values, title string) page {
	v.t.Helper()
	preview := v.send(from, at+"/"+step, form)
	preview.has(v.t, title+"?")
	form.Set("token", preview.frozen(v.t))
	return v.send(from, at+"/"+step+"/confirm", form)
}

// TestStepsCannotBeSkipped proves that a group and a dead letter have the form of the step
// that is next and of no other, and that another step is refused with the one that comes
// first.
func TestStepsCannotBeSkipped(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	letters := died(t, n, 2, nil)
	v := visit(t, n)
	v.signIn(n.Key)
	v.get("dead-letters").has(t, "2 dead letters wait to be set right", "NETWORK_TIMEOUT", "nobody", `class="trend"`)
	at, one := "dead-letters/groups/"+letters[0].GroupID.String(), "dead-letters/"+letters[0].ErrorID.String()
	shown := v.get(at)
	shown.has(t, "First: triage.", "2 dead letters wait")
	for _, path := range []string{at, one} {
		if got := open(v.get(path), path); got != "triage" {
			t.Errorf("%s has the forms %q at first", path, got)
		}
	}
	if p := v.send(shown, at+"/remediate", remediate); p.status != http.StatusOK || !strings.Contains(p.body, "None of them can take this step") || !strings.Contains(p.body, "must pass another step: triage") {
		t.Errorf("a remediation before triage: %d\n%.2000s", p.status, p.body)
	}
	if p := v.send(shown, one+"/validate", validate); p.status != http.StatusConflict || !strings.Contains(p.body, "must pass another step: triage") {
		t.Errorf("a validation before triage: %d", p.status)
	}
	if p := v.send(shown, at+"/triage/confirm", triage); p.status < 400 {
		t.Errorf("a confirmation without a preview: %d", p.status)
	}
	p := v.send(shown, at+"/triage", url.Values{"cause": {"TRANSIENT"}, "stage": {"llm"}, "note": {"as typed"}})
	if p.status != http.StatusUnprocessableEntity {
		t.Errorf("a triage without a class: %d", p.status)
	}
	p.has(t, "error_class is required", "as typed", `value="TRANSIENT" selected`)
	v.take(shown, at, "triage", triage, "Triage 2 dead letters").has(t, "Triaged 2 dead letters.", "transient")
	if got := open(v.get(at), at); got != "remediate" {
		t.Errorf("after triage there are the forms %q", got)
	}
	v.send(shown, one+"/remediate", remediate).has(t, "Recorded the remediation of 1 dead letter.", "upstream checked: its status page", "OPS-17")
	if got, group := open(v.get(one), one), open(v.get(at), at); got != "validate" || group != "remediate validate" {
		t.Errorf("one further along has %q, its group %q", got, group)
	}
	v.get(at).has(t, "<summary>For 1 dead letter that is this far</summary>", `data-go="d" aria-current="page"`)
	v.send(shown, at+"/remediate", remediate).has(t, "1 dead letter of them is further along, and comes back to this step.")
}

// TestDeadLetterPage proves that what is kept of a dead letter is shown, and what was not
// kept of it; and that a group has its owner.
func TestDeadLetterPage(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	d := died(t, n, 1, func(f *recoup.StageFailure) { f.PayloadHash, f.PayloadRef = "abcdef0123", "s3://in/1" })[0]
	v := visit(t, n)
	v.signIn(n.Key)
	shown := v.get("dead-letters/" + d.ErrorID.String())
	shown.has(t, "Round 1", "email: replaced before it was stored", "[redacted:email]", "abcdef0123", "s3://in/1", "It was never part of one.", "every retry failed")
	v.get("errors/"+d.ErrorID.String()).has(t, "It is a dead letter", `href="dead-letters/`+d.ErrorID.String()+`"`)
	at := "dead-letters/groups/" + d.GroupID.String()
	v.send(shown, at+"/note", url.Values{"owner": {"ada"}, "note": {"the model is away"}}).has(t, "The group has its owner and its note.", "the model is away")
	if p := v.send(shown, at+"/note", url.Values{}); p.status != http.StatusUnprocessableEntity {
		t.Errorf("neither an owner nor a note: %d", p.status)
	}
	v.get("dead-letters?pipeline=criticizer").has(t, "ada", "the model is away")
	v.get("dead-letters?pipeline=none").has(t, "There is no dead letter of none.")
	for _, path := range []string{"dead-letters/x", "dead-letters/groups/x", "dead-letters/" + recoup.ID{1}.String()} {
		if p := v.get(path); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	r := visit(t, n)
	r.signIn(key(t, n, "reader"))
	for _, path := range []string{at, "dead-letters/" + d.ErrorID.String()} {
		p := r.get(path)
		p.has(t, `aria-disabled="true" title="A key of the role reader may only look."`)
		if p := r.send(p, path+"/triage", triage); p.status != http.StatusForbidden {
			t.Errorf("a reader triages at %s: %d", path, p.status)
		}
	}
}

// hostileLetters stores a hostile value in every field of dead letters that takes one, and
// returns the pages that show them.
func hostileLetters(t *testing.T, n *live.Node, evil string) []string {
	t.Helper()
	d := died(t, n, 1, func(f *recoup.StageFailure) {
		f.EntityID, f.LastStack, f.PayloadRef, f.Context["upstream"] = evil, evil, evil, evil
	})[0]
	c := n.Client()
	_, err := c.DeadLetterGroups.Note(t.Context(), d.GroupID, recoup.GroupNote{Owner: evil, Note: evil})
	if err == nil {
		_, err = c.DeadLetters.Triage(t.Context(), d.ErrorID, recoup.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted, Note: evil})
	}
	if err == nil {
		_, err = c.DeadLetters.Remediate(t.Context(), d.ErrorID, recoup.Remediation{Link: "OPS-" + evil, Corrected: evil, Note: evil})
	}
	if err != nil {
		t.Fatal(err)
	}
	group := "dead-letters/groups/" + d.GroupID.String()
	if _, err = c.DeadLetters.Validate(t.Context(), d.ErrorID, recoup.Validation{DuplicateSafe: evil}); err != nil {
		t.Fatal(err)
	}
	r, err := c.DeadLetters.Replay(t.Context(), d.ErrorID, recoup.SingleReplay{Reason: evil})
	if err == nil {
		_, err = c.Replays.Pause(t.Context(), r.ID, evil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"operations", "operations?state=" + url.QueryEscape(evil), "replays/" + r.ID.String(), "replays/" + r.ID.String() + "?item=" + url.QueryEscape(evil), group + "/replay", "dead-letters", "dead-letters?pipeline=" + url.QueryEscape(evil), "dead-letters/" + d.ErrorID.String(), group, group + "?cause=" + url.QueryEscape(evil)}
}
