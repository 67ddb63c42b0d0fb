package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// TestOperation proves that all that match a filter are frozen before they are confirmed, that
// what comes later is left alone, and that the page says what became of each.
func TestOperation(t *testing.T) {
	t.Parallel()
	n, parked := start(t) // one error that is parked, and one that is retried
	v := visit(t, n)
	list := v.signIn(n.Key)
	v.get("operations").has(t, "No operation is under way", "Nothing was done in bulk yet.", "Nothing was replayed yet.")
	form := url.Values{"verb": {"park"}, "everything": {"yes"}, "filter": {"table=outreach.dol_errors"}}
	frozen := v.send(list, "errors/preview", form)
	frozen.has(t, "Park 1 error?", "The set is fixed: exactly these 1", "1 refused", "cannot park an error that is PARKED", "table:outreach.dol_errors")
	v.get("operations").has(t, "1 bulk act not confirmed yet.", ">Not confirmed<")
	late, err := n.Client().Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-3", Code: "NETWORK_TIMEOUT", Message: "late"})
	if err != nil {
		t.Fatal(err)
	}
	if p := v.send(list, frozen.path+"/confirm", url.Values{}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "reason: reason is required") {
		t.Errorf("without a reason: %d\n%.1500s", p.status, p.body)
	}
	v.send(list, frozen.path+"/confirm", url.Values{"reason": {"the register is down"}}).has(t, "It is confirmed, and is carried out now.", "the register is down")
	p := v.get(frozen.path)
	for !strings.Contains(p.body, ">Done<") && t.Context().Err() == nil && p.status == http.StatusOK { // the scheduler looks every second
		p = v.get(frozen.path)
	}
	p.has(t, "2 of 2 errors have their result", "1 applied, 1 refused, 0 left", `title="Not while the operation is done."`, "the register is down")
	v.get(frozen.path+"?result=REFUSED").has(t, parked.Error.ID.String(), "INVALID_TRANSITION")
	v.get(frozen.path+"?result=PENDING").has(t, "None of them is pending.")
	v.get("operations?acts=DONE").has(t, "park", "the register is down", `<progress max="2" value="2"`)
	v.get("operations?acts=PAUSED").has(t, "None is paused.")
	if e, err := n.Client().Errors.Get(t.Context(), late.Error.ID); err != nil || e.State != recoup.RetryPending {
		t.Errorf("the one that came later is %s: %v", e.State, err)
	}
	for _, bad := range []string{frozen.path + "?from=x", frozen.path + "?from=-1", frozen.path + "?result=NONE", "operations/x", "operations/" + recoup.ID{1}.String()} {
		if p := v.get(bad); p.status < 400 || p.status >= 500 {
			t.Errorf("%s: %d", bad, p.status)
		}
	}
}

// TestOperationIsPausedAndCancelled proves that an operation under way is stopped by its page.
func TestOperationIsPausedAndCancelled(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	for i := range 3 {
		if _, err := n.Client().Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprint("CO-", i), Code: "NETWORK_TIMEOUT"}); err != nil {
			t.Fatal(err)
		}
	}
	v := visit(t, n)
	list := v.signIn(n.Key)
	freeze := func() page {
		return v.send(list, "errors/preview", url.Values{"verb": {"park"}, "everything": {"yes"}, "filter": {"state=RETRY_PENDING"}})
	}
	frozen := freeze()
	if p := v.send(list, frozen.path+"/pause", url.Values{"reason": {"lunch"}}); p.status != http.StatusConflict {
		t.Errorf("an operation that is not confirmed is paused: %d", p.status)
	}
	if p := v.send(list, frozen.path+"/explode", url.Values{"reason": {"lunch"}}); p.status != http.StatusNotFound {
		t.Errorf("no such act: %d", p.status)
	}
	v.send(list, frozen.path+"/cancel", url.Values{"reason": {"not now"}}).has(t, "The operation is cancelled.", ">Cancelled<", "not now", "0 applied, 0 refused, 3 left")
	if p := v.send(list, frozen.path+"/confirm", url.Values{"reason": {"too late"}}); p.status != http.StatusConflict {
		t.Errorf("a cancelled operation is confirmed: %d", p.status)
	}
}
