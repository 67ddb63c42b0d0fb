package endtoend

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestConsoleViews proves by a real browser that a list is found by its tokens, saved under a
// name, opened by somebody else in another session, and deleted.
func TestConsoleViews(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		b.signIn(s.key())
		b.open("errors")
		b.fill(".tokens input[name=q]", "table:outreach.dol_errors entity:CO-2\r")
		b.until("location.search.includes('entity=CO-2') && document.querySelectorAll('tr[data-row]').length === 1")
		b.click("[data-save-view]")
		b.fill("#view-new input[name=name]", "The second company")
		b.do(chromedp.SetValue("#view-new select[name=hub]", "dol-filings"))
		b.click("#view-new button.primary")
		b.shows("The view is saved.")
		b.until("document.querySelector('.views a[aria-current=page]')?.textContent.includes('The second company')")
		b.quiet()

		// Somebody else, in a browser of their own.
		ada, err := admin.New(c).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator", Hubs: []string{"dol-filings"}})
		if err != nil {
			t.Fatal(err)
		}
		other := openBrowser(t, b.base)
		other.signIn(ada.Secret)
		other.open("errors")
		other.shows("CO-3")
		other.click(".views a")
		other.until("location.search.includes('entity=CO-2') && document.querySelectorAll('tr[data-row]').length === 1")
		other.click(".views button[popovertarget$='-delete']")
		other.shows("Nobody of dol-filings sees it any more.")
		other.click("form[id$='-delete'] button.primary")
		other.shows("The view is deleted.")
		other.quiet()
		b.open("errors")
		b.until("document.readyState === 'complete' && document.querySelector('.views') === null")
	})
}
