package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSavedViews proves that a list is saved under a name, opened by it from another session,
// renamed and deleted, and that a name that is taken is said above the same list.
func TestSavedViews(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	list := v.get("errors?state=PARKED")
	list.has(t, "Save this view", `name="filter" value="state=PARKED"`)
	form := url.Values{"filter": {"state=PARKED"}, "name": {"Parked <now>"}, "hub": {"dol-filings"}}
	v.send(list, "views", form).has(t, "The view is saved.", `aria-current="page" title="shared within dol-filings">Parked &lt;now&gt;`)
	v.get("errors").has(t, `<a href="errors?state=PARKED" title`)
	if p := v.send(list, "views", form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "there is a view of this name already") || !strings.Contains(p.body, "CO-1") {
		t.Errorf("a name that is taken is answered with %d\n%.1500s", p.status, p.body)
	}

	other := visit(t, n)
	other.signIn(key(t, n, "operator"))
	p := other.get("errors?state=PARKED")
	p.has(t, "Parked &lt;now&gt;", "Rename")
	id := between(t, p.body, `popovertarget="view-`, `"`)
	other.send(p, "views", url.Values{"id": {id}, "filter": {"state=PARKED"}, "name": {"Waiting"}, "hub": {"dol-filings"}}).has(t, "The view is changed.", ">Waiting")

	reader := visit(t, n)
	reader.signIn(key(t, n, "reader"))
	p = reader.get("errors?state=PARKED")
	p.has(t, ">Waiting", `aria-disabled="true" title="A key of the role reader may only look."`)
	if got := reader.send(p, "views/"+id+"/delete", url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("a reader deletes a view: %d", got.status)
	}
	if gone := other.send(other.get("errors"), "views/"+id+"/delete", url.Values{}); gone.path != "errors?done=view-gone&state=PARKED" || strings.Contains(gone.body, ">Waiting") {
		t.Errorf("deleting it leads to %s", gone.path)
	}
}

// between is what stands between two texts.
func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, before)
	found2 := false
	rest, _, found2 = strings.Cut(rest, after)
	if !found || !found2 {
		t.Fatalf("nothing is between %s and %s", before, after)
	}
	return rest
}
