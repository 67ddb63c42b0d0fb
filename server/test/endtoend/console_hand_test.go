package endtoend

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestConsoleByHand proves that acts of every kind are done without a mouse: by Tab, Enter,
// the space bar and letters.
func TestConsoleByHand(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	s, c, b := console(t, live.SQLite(t))
	batch(t, c)
	b.signIn(s.key())

	// One error: an act with a letter, and one without.
	b.open("errors/" + waiting(t, c, "CO-1").ID.String())
	b.press("s")
	b.until(`document.activeElement.matches("#act-escalate input")`)
	b.press("nobody knows\r")
	b.shows("Escalated 1 error.")
	b.shows("“nobody knows”") // and no letter that opened the form
	b.tabTo("button[popovertarget=act-archive]")
	b.press("\r")
	b.until(`document.activeElement.matches("#act-archive input")`)
	b.press("of no use")
	b.tabTo("#act-archive button.primary")
	b.press(" ")
	b.shows("Archived 1 error.")

	// All of a group of errors, and its note.
	b.open("groups/" + waiting(t, c, "CO-2").GroupID.String())
	b.tabTo("input[name=owner]")
	b.press("grace\t")
	b.press("the register has changed\t")
	b.press("\r")
	b.shows("The group has its owner and its note.")
	b.tabTo("button[value=resolve]")
	b.press("\r")
	b.shows("Resolve 2 errors?")
	b.press("corrected\r") // the reason has the focus
	b.shows("2 applied, 0 refused, 0 left")

	// A step of dead letters.
	b.open("dead-letters")
	b.press("j\r")
	b.shows("Five steps")
	b.until("document.readyState === 'complete'")
	b.tabTo("select[name=cause]")
	b.press("T\t")
	b.press(" \t \t")
	b.press("Y")
	b.tabTo("#workflow button.primary")
	b.press("\r")
	b.shows("Triage 1 dead letter?")
	b.tabTo("form[action$='/confirm'] button")
	b.press("\r")
	b.shows("Triaged 1 dead letter.")

	// Gate Zero.
	b.open("gate-zero")
	b.press("j\r")
	b.until(`document.querySelector("#act-kill") !== null && document.readyState === "complete"`)
	b.tabTo("button[popovertarget=act-kill]")
	b.press("\r")
	b.press("the wrong file\r")
	b.shows("The batch is stopped.")

	// The platform.
	b.open("policy")
	b.tabTo("form[action='policy/try'] button.primary")
	b.press("\r")
	b.shows("What it would change")
	b.open("admin")
	b.tabTo("form[action='admin/jobs/leases/run'] button")
	b.press("\r")
	b.shows("The job has run.")

	// The menu: closed by escape, dark, and signed out.
	b.tabTo(".menu summary")
	b.press("\r\t")
	b.press(kb.Escape)
	b.until(`!document.querySelector(".menu").open && document.activeElement.matches(".menu summary")`)
	b.press("\r")
	b.tabTo(".menu button[value=dark]")
	b.press("\r")
	b.until("document.documentElement.dataset.theme === 'dark'")
	b.tabTo(".menu summary")
	b.press("\r")
	b.tabTo("form[action='sign-out'] button")
	b.press("\r")
	b.shows("Sign in with an API key")
	b.quiet()
}

// TestConsoleTimes proves that the exact time of everything is UTC, or that of the browser's
// own clock for those who have chosen so, also in what comes later.
func TestConsoleTimes(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	s, c, b := console(t, live.SQLite(t))
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
		return err
	}))
	b.signIn(s.key())
	b.open("errors")
	b.until(`document.querySelector("tbody time").title.endsWith(" UTC")`)
	b.click(".menu summary")
	b.click(".menu button[value=local]")
	b.until(`document.documentElement.dataset.times === "local" && document.querySelector("tbody time")?.title.includes("GMT+5:30")`)
	b.until("document.querySelector('live-state').dataset.state === 'live'")
	if _, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-9", Code: "VALIDATION_ERROR", Message: "new"}); err != nil {
		t.Fatal(err)
	}
	b.shows("CO-9")
	b.until(`[...document.querySelectorAll("main time")].every(x => x.title.includes("GMT+5:30"))`)
	b.click(".menu summary")
	b.click(".menu button[value=utc]")
	b.until(`document.documentElement.dataset.times === undefined && document.querySelector("tbody time")?.title.endsWith(" UTC")`)
	b.quiet()
}
