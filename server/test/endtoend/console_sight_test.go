package endtoend

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// sight is something that a visitor sees: a page, as it is or after a few steps.
type sight struct {
	name, path string
	then       func(*browser)
}

// look brings a sight before the eyes, with what comes after it.
func (b *browser) look(at sight) {
	b.Helper()
	b.open(at.path)
	b.until(`document.querySelector("[hx-trigger=load]") === null`)
	if at.then != nil {
		at.then(b)
	}
}

// sights are all pages, with something on each, and what is behind their buttons: dialogs,
// previews, what a draft of a policy would change, and what a form says that was refused.
func sights(t *testing.T, c *client.Client) (all []sight) {
	t.Helper()
	pages := consolePages(t, c)
	for _, name := range slices.Sorted(maps.Keys(pages)) { // in the same order every time, for tier.Quarter
		all = append(all, sight{name: name, path: pages[name]})
	}
	return append(all,
		sight{"confirm", "errors?state=PARKED", func(b *browser) {
			b.click("thead [data-all]")
			b.press("r")
			b.shows("The set is fixed")
		}},
		sight{"selection", "errors?state=PARKED", func(b *browser) {
			b.click("tr[data-row] input[name=id]")
			b.shows("1 selected")
		}},
		sight{"operation-confirm", "errors?state=PARKED", func(b *browser) {
			b.click("tr[data-row] input[name=id]")
			b.click("input[name=everything]")
			b.press("v")
			b.shows("It can be confirmed for 15 minutes")
		}},
		sight{"error-act", pages["error"], func(b *browser) {
			b.press("a")
			b.until(`document.querySelector("#act-assign:popover-open") !== null`)
		}},
		sight{"group-confirm", pages["dead-letter-group"], func(b *browser) {
			b.choose("select[name=cause]", "TRANSIENT")
			b.click("input[name=stage]")
			b.click("input[name=error_class]")
			b.choose("select[name=exhausted]", "yes")
			b.click("#workflow form[action$='/triage'] button")
			b.shows("Nothing has been changed yet.")
		}},
		sight{"save-view", "errors?state=PARKED&code=VALIDATION_ERROR", func(b *browser) {
			b.click("[data-save-view]")
			b.until(`document.querySelector("#view-new:popover-open") !== null`)
		}},
		sight{"policy-tried", "policy", func(b *browser) {
			b.until(`(document.querySelector("textarea").value = document.querySelector("textarea").value.replace("version: 1.0.0", "version: 1.0.1")).includes("1.0.1")`)
			b.click("form[action='policy/try'] button.primary")
			b.shows("What it would change")
		}},
		sight{"policy-refused", "policy", func(b *browser) {
			b.choose("textarea[name=text]", "nonsense: true\n")
			b.click("form[action='policy/try'] button.primary")
			b.shows("What is wrong with it")
		}},
		sight{"sign-in-refused", "sign-in", func(b *browser) {
			b.fill("input[name=key]", "rk_wrong\r")
			b.shows("unknown or was revoked")
		}},
		sight{"keys", "errors", func(b *browser) {
			b.press("?")
			b.until(`document.querySelector("#keys:popover-open") !== null`)
		}},
		sight{"menu", "errors", func(b *browser) { b.click(".menu summary") }},
	)
}

// stock is what happened before somebody looks: an alert that fires and one silence, retries,
// what nobody has registered, and a bulk act that left something alone.
func stock(t *testing.T, c *client.Client) (alert, operation recoup.ID) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var many []recoup.Report
	for i := range 60 {
		many = append(many, recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprintf("CO-20260205-%06d", i), Code: "DUPLICATE_COMPANY", Message: fmt.Sprintf("EIN belongs to the company %d as well, which was taken in before", i)})
		many = append(many, recoup.Report{Table: "people.people_errors", EntityID: fmt.Sprintf("PE-%d", i), Code: "NETWORK_TIMEOUT", Message: "the directory did not answer within 30 s"})
	}
	many = append(many, recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-4", Code: "NOBODY_KNOWS_THIS", Message: "what is this?"})
	_, err := c.ReportBatch(t.Context(), many)
	must(err)
	clock := time.Now
	_, err = admin.New(c).Alerts.Silence(t.Context(), wire.NewSilence{Rule: "error-rate", Until: clock().Add(4 * time.Hour), Reason: "the register is moved tonight; who needs it is told by hand"})
	must(err)
	o, err := c.Operations.Create(t.Context(), recoup.NewOperation{Act: "park", Filter: recoup.ErrorFilter{Table: "people.people_errors"}})
	must(err)
	_, err = c.Operations.Confirm(t.Context(), o.ID, recoup.Act{Reason: "the directory is down until noon"})
	must(err)
	for alert.IsZero() {
		page, err := admin.New(c).Alerts.List(t.Context(), wire.AlertFilter{State: wire.AlertFiring}, client.Page{})
		must(err)
		if len(page.Alerts) > 0 {
			alert = page.Alerts[0].ID
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no alert fires")
		case <-time.After(100 * time.Millisecond):
		}
	}
	return alert, o.ID
}
