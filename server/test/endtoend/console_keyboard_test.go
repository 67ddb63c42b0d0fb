package endtoend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// walk watches where the focus goes: what is to be reached, what was, and what had it without
// being seen to have it, or under something else. Nothing is replaced meanwhile.
const walk = `
document.addEventListener("htmx:beforeRequest", e => e.preventDefault(), true);
window.stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter(e => !e.matches(":disabled, [type=hidden]") && e.checkVisibility());
window.reached = new Set(); window.unseen = []; window.under = []; let last;
document.addEventListener("focusin", e => {
	const style = getComputedStyle(e.target);
	if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) unseen.push(e.target.outerHTML);
	if (last?.isConnected) { // it was scrolled to after its own event
		const box = last.getClientRects()[0], top = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		if (top && !last.contains(top) && !top.contains(last)) under.push(last.outerHTML);
	}
	reached.add(last = e.target);
});
stops.length`

// TestConsoleTabs proves that on every page all that can be used is reached with Tab, and is
// seen to have the focus.
func TestConsoleTabs(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	s, c, b := console(t, live.SQLite(t))
	b.signIn(s.key())
	pages := consolePages(t, c)
	names := slices.Sorted(maps.Keys(pages))
	first, end := tier.Quarter(t, len(names))
	for _, name := range names[first:end] {
		b.open(pages[name])
		b.until(`document.querySelector("[hx-trigger=load]") === null`) // what comes later is there
		n := eval[int](b, walk)
		b.press(strings.Repeat("\t", n+10))
		for what, list := range map[string]string{
			"is not reached with Tab": "stops.filter(e => !reached.has(e)).map(e => e.outerHTML)", "has the focus, which is not to be seen": "unseen", "has the focus under something else": "under",
		} {
			for _, e := range eval[[]string](b, list) {
				t.Errorf("%s: this %s: %.200s", name, what, e)
			}
		}
	}
	b.quiet()
}

// tabTo goes on with Tab until what a selector finds has the focus.
func (b *browser) tabTo(selector string) {
	b.Helper()
	for range 400 {
		if eval[bool](b, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
		b.press("\t")
	}
	b.Fatalf("Tab never leads to %s:\n%s", selector, b.text())
}

// TestConsoleDialogs proves that who opens a dialog is in it, stays in it, and is back where
// they were when they leave it.
func TestConsoleDialogs(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	s, c, b := console(t, live.SQLite(t))
	batch(t, c)
	b.signIn(s.key())
	for _, path := range []string{"errors/" + waiting(t, c, "CO-1").ID.String(), "gate-zero/batches/spring"} {
		b.open(path)
		names := eval[[]string](b, `[...document.querySelectorAll("main button[popovertarget]:enabled")].filter(x => x.checkVisibility()).map(x => x.getAttribute("popovertarget"))`)
		if len(names) == 0 {
			t.Fatalf("%s has no dialog", path)
		}
		for _, name := range names {
			button := "button[popovertarget=" + name + "]"
			b.tabTo("main " + button)
			b.press("\r")
			b.stays(name)
			b.press(kb.Escape)
			b.until(`!document.querySelector("#` + name + `").matches(":popover-open")`)
			if !eval[bool](b, "document.activeElement.matches('"+button+"')") {
				t.Errorf("who leaves %s is at %s", name, eval[string](b, "document.activeElement.outerHTML"))
			}
		}
	}
	b.press("?")
	b.stays("keys")
	b.press("\r") // Close
	b.until(`!document.querySelector("#keys").matches(":popover-open")`)
	b.quiet()
}

// stays fails the test if Tab, in either direction, leads out of a dialog, or if a letter
// reaches what is behind it.
func (b *browser) stays(name string) {
	b.Helper()
	within := `document.querySelector("#` + name + `:popover-open")?.contains(document.activeElement) === true`
	b.until(within)
	n := eval[int](b, `document.querySelectorAll("#`+name+` :is(button, input:not([type=hidden]), select)").length`)
	for i := range 2*n + 2 {
		shift := chromedp.ModifierNone
		if i > n {
			shift = chromedp.ModifierShift
		}
		b.press("\t", shift)
		if !eval[bool](b, within) {
			b.Fatalf("Tab leads out of %s to %s", name, eval[string](b, "document.activeElement.outerHTML"))
		}
	}
	b.tabTo("#" + name + " button[type=button]")
	here := eval[string](b, "location.href")
	b.press("ge")
	if !eval[bool](b, within) || eval[string](b, "location.href") != here {
		b.Errorf("letters reach what is behind %s", name)
	}
}

// TestConsoleKeys proves that the help lists what works: every page by its letters, rows,
// ranges, finding; and that a list that changes leaves the focus where it is.
func TestConsoleKeys(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	s, c, b := console(t, live.SQLite(t))
	b.signIn(s.key())
	b.press("?")
	b.until(`document.querySelector("#keys").matches(":popover-open")`)
	keys := eval[[]string](b, `[...document.querySelectorAll("#keys dt")].map(x => x.textContent.replaceAll(" ", ""))`)
	for _, want := range []string{"/", "jk", "x", "X", "enter", "esc", "?", "ge"} {
		if !slices.Contains(keys, want) {
			t.Errorf("the help has %q, and not %s", keys, want)
		}
	}
	b.press(kb.Escape)
	for _, letters := range keys {
		if len(letters) == 2 && letters[0] == 'g' {
			want := eval[string](b, `document.querySelector("[data-go=`+letters[1:]+`]").href`)
			if want == eval[string](b, "location.href") {
				continue // nobody would see it go
			}
			b.press(kb.Escape) // a page may begin with a field
			b.press(letters)
			b.until(fmt.Sprintf("location.href === %q && document.readyState === 'complete'", want))
		}
	}
	b.open("errors")
	b.press("/")
	b.press("CO-2\r")
	b.until(`location.search === "?entity=CO-2" && document.readyState === "complete"`)
	b.press("/")
	b.press(kb.Escape)
	b.press("j")
	at := eval[string](b, "document.activeElement.href")
	if want := waiting(t, c, "CO-2").ID.String(); !strings.HasSuffix(at, want) {
		t.Errorf("j leads to %s, want %s", at, want)
	}

	// A range, by X and by shift and the space bar.
	b.open("errors")
	b.press("jjx")
	b.press("jjX")
	b.shows("3 selected")
	b.open("errors")
	b.tabTo("tr:nth-child(2) input[name=id]")
	b.press(" ")
	b.tabTo("tr:nth-child(4) input[name=id]")
	b.press(" ", chromedp.ModifierShift)
	b.shows("3 selected")

	// Who lets go of what they selected sees the list as it is now, and goes on from there.
	const selected = `document.querySelectorAll("input[name=id]:checked").length`
	eval[string](b, `document.querySelector("#list").dataset.old = "yes"`)
	b.press("kkX")
	b.until(`document.querySelector("#list:not([data-old])") !== null && ` + selected + " === 0")
	b.press("jjX")
	b.shows("3 selected")

	// What they select before that list has come stays. No answer comes between these keys.
	eval[string](b, `for (const key of "kkXx") document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})); "pressed"`)
	b.until("document.querySelector('live-state').dataset.state === 'still'")
	if n := eval[int](b, selected); n != 1 {
		t.Errorf("a list that came late leaves %d rows selected, want 1", n)
	}

	b.open("errors")
	b.until("document.querySelector('live-state').dataset.state === 'live'")
	b.press("jjj")
	at = eval[string](b, "document.activeElement.href")
	if _, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-9", Code: "VALIDATION_ERROR", Message: "new"}); err != nil {
		t.Fatal(err)
	}
	b.shows("CO-9")
	if now := eval[string](b, "document.activeElement.href ?? document.activeElement.outerHTML"); now != at {
		t.Errorf("a list that has changed has moved the focus from %s to %.200s", at, now)
	}
	b.quiet()
}
