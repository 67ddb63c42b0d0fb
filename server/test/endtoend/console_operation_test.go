package endtoend

import (
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestConsoleOperation proves by a real browser that all that match are frozen while rows
// change, that they are parked with a reason after a confirmation that names their number, and
// that the page follows until each has its result.
func TestConsoleOperation(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		report := func(n int) recoup.Error {
			made, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprint("OP-", n), Code: "NETWORK_TIMEOUT"})
			if err != nil {
				t.Fatal(err)
			}
			return made.Error
		}
		for n := range 60 { // more than a page
			report(n)
		}
		changed := report(60)
		b.signIn(s.key())
		b.open("errors?code=NETWORK_TIMEOUT&table=outreach.dol_errors")
		b.shows("OP-60")
		b.press("j")
		b.press("x")
		b.shows("1 selected")
		b.click("input[name=everything]")
		b.press("p")
		b.shows("Park 61 errors?")
		late := report(61)
		if _, err := c.Errors.Resolve(t.Context(), changed.ID, recoup.Act{Reason: "it is fixed"}); err != nil {
			t.Fatal(err)
		}
		b.fill("form.panel input[name=reason]", "the register is down\r")
		b.shows("It is confirmed, and is carried out now.")
		b.shows("60 applied, 1 refused, 0 left") // by itself
		b.shows("Done")
		b.click(".choices a[href$='result=REFUSED']")
		b.shows("It has changed since the preview")
		if e, err := c.Errors.Get(t.Context(), late.ID); err != nil || e.State != recoup.RetryPending {
			t.Errorf("what came later is %s: %v", e.State, err)
		}
		b.open("operations")
		b.shows("No operation is under way")
		b.shows("park: the register is down")
		b.quiet()
	})
}
