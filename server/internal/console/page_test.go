package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/gatezero/web"
)

// TestActs proves that what a form says is done, once, and that the page says so; and that a
// form that lacks its reason is refused with what is missing.
func TestActs(t *testing.T) {
	t.Parallel()
	n, parked := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	at := "errors/" + parked.Error.ID.String()
	shown := v.get(at)
	shown.has(t, "What happened, what comes next", "Parked", "Unpark", "no such number")
	if p := v.send(shown, at+"/resolve", url.Values{}); p.status != http.StatusUnprocessableEntity && p.status != http.StatusBadRequest {
		t.Errorf("an act without a reason: %d", p.status)
	}
	v.send(shown, at+"/assign", url.Values{"to": {"grace"}}).has(t, "Assigned 1 error.", "grace")
	v.send(shown, at+"/resolve", url.Values{"reason": {"corrected by hand"}}).has(t, "Resolved 1 error.", "“corrected by hand”")
	if p := v.get("errors/" + parked.Error.ID.String()[:8]); p.status != http.StatusNotFound {
		t.Errorf("half an id is answered with %d", p.status)
	}
}

// TestSetIsFrozen proves that what is confirmed is what was previewed, for rows that were
// ticked: one that has changed meanwhile is left alone.
func TestSetIsFrozen(t *testing.T) {
	t.Parallel()
	n, parked := start(t)
	v := visit(t, n)
	list := v.signIn(n.Key)
	other, err := n.Client().Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-3", Code: "VALIDATION_ERROR", Message: "another"})
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"verb": {"resolve"}, "id": {parked.Error.ID.String(), other.Error.ID.String()}, "filter": {"table=outreach.dol_errors"}}
	preview := v.send(list, "errors/preview", form)
	preview.has(t, "Resolve 2 errors?")
	if _, err := n.Client().Errors.Assign(t.Context(), other.Error.ID, recoup.Act{To: "grace"}); err != nil {
		t.Fatal(err)
	}
	form = url.Values{"verb": {"resolve"}, "token": {preview.frozen(t)}, "back": {"errors?table=outreach.dol_errors"}, "applied": {"2"}}
	if p := v.send(list, "errors/act", form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "reason") {
		t.Errorf("without a reason: %d\n%.1500s", p.status, p.body)
	}
	form.Set("reason", "the source is corrected")
	v.send(list, "errors/act", form).has(t, "Resolved 1 error.", "CO-3")
	if e, err := n.Client().Errors.Get(t.Context(), other.Error.ID); err != nil || e.State != recoup.Parked {
		t.Errorf("the one that has changed is %s: %v", e.State, err)
	}
}

// TestFilter proves that what is typed becomes part of the address, and narrows the list.
func TestFilter(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	p := v.get("errors?q=state%3Aparked")
	if p.path != "errors?state=PARKED" || strings.Contains(p.body, "CO-2") {
		t.Errorf("state:parked leads to %s", p.path)
	}
	p.has(t, "CO-1", `aria-label="Remove state PARKED"`)
	if p := v.get("errors?q=CO-2"); p.path != "errors?entity=CO-2" || strings.Contains(p.body, "CO-1") {
		t.Errorf("an entity leads to %s", p.path)
	}
	for typed, want := range map[string]string{
		`text:did not answer`: "errors?text=did+not+answer", `state:parked text:"no such" CO-1`: "errors?entity=CO-1&state=PARKED&text=no+such", `text:"open`: "errors?text=open",
	} {
		if p := v.get("errors?q=" + url.QueryEscape(typed)); p.path != want {
			t.Errorf("%s leads to %s", typed, p.path)
		}
	}
	for _, bad := range []string{"text=12", "tier=x", "parked=perhaps", "older=yesterday", "state=NONSENSE"} {
		if p := v.get("errors?" + bad); p.status < 400 || p.status >= 500 {
			t.Errorf("%s is answered with %d", bad, p.status)
		}
	}
	v.get("errors?entity=nobody").has(t, "Nothing matches.")
	if p := v.get("find?q=NETWORK_TIMEOUT"); p.path != "errors?code=NETWORK_TIMEOUT" {
		t.Errorf("a code is found at %s", p.path)
	}
}

// TestReaders proves that who may only look is shown the acts and why they are not to be
// had, and is refused if they try.
func TestReaders(t *testing.T) {
	t.Parallel()
	n, parked := start(t)
	v := visit(t, n)
	v.signIn(key(t, n, "reader"))
	at := "errors/" + parked.Error.ID.String()
	p := v.get(at)
	p.has(t, `aria-disabled="true" title="A key of the role reader may only look."`)
	if got := v.send(p, at+"/resolve", url.Values{"reason": {"no"}}); got.status != http.StatusForbidden {
		t.Errorf("a reader resolves an error: %d", got.status)
	}
	v.get("").has(t, "your key may not see it")
}

// TestHostileStrings proves that whatever is stored is text on every page.
func TestHostileStrings(t *testing.T) {
	t.Parallel()
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}'`
	n, parked := start(t)
	c := n.Client()
	reported, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: evil, Code: "VALIDATION_ERROR", Message: evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range []struct {
		verb recoup.ActName
		act  recoup.Act
	}{{recoup.ActAssign, recoup.Act{To: evil}}, {recoup.ActReview, recoup.Act{Reason: evil}}} {
		if _, err := c.Errors.Act(t.Context(), act.verb, reported.Error.ID, act.act); err != nil {
			t.Fatal(err)
		}
	}
	v := visit(t, n)
	v.signIn(n.Key)
	for _, path := range append(hostileLetters(t, n, evil), []string{
		"", "errors", "errors/" + reported.Error.ID.String(), "errors/" + parked.Error.ID.String(), "park", "groups?code=" + url.QueryEscape(evil), "groups", "gate-zero", "codes?text=" + url.QueryEscape(evil), "policy", "admin", "doctor", "audit?actor=" + url.QueryEscape(evil), "promotion?entity=" + url.QueryEscape(evil),
		"errors?entity=" + url.QueryEscape(evil), "errors?older=" + url.QueryEscape(evil), "errors?code=" + url.QueryEscape(evil), "sign-in?to=" + url.QueryEscape(evil), evil,
	}...) {
		p := v.get(strings.ReplaceAll(path, "\"", "%22"))
		for _, tag := range []string{"<script>alert", "<img src=x", "onerror=alert(1)>{{", `="` + evil} {
			if strings.Contains(p.body, tag) {
				t.Errorf("%s has %s", path, tag)
			}
		}
	}
	v.get("park").has(t, "&lt;script&gt;alert(1)")
}

// TestTemplates proves that no template has what a strict policy makes fail in silence.
func TestTemplates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.html")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	forbidden := regexp.MustCompile(`hx-on|hx-vals|js:|javascript:|\son\w+=|\sstyle=|<script>|<style|hx-trigger="[^"]*\[`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.Find(text); found != nil {
			t.Errorf("%s has %q", file, found)
		}
		if lines := strings.Count(string(text), "\n"); lines > 300 {
			t.Errorf("%s has %d lines", file, lines)
		}
	}
}

// TestLettersDiffer proves that every page has a letter of its own.
func TestLettersDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, letter := range console.Navigation(web.Pages()) {
		if seen[letter] || len(letter) != 1 {
			t.Errorf("g %s leads to two pages, or to none", letter)
		}
		seen[letter] = true
	}
}
