package endtoend

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestConsoleOfAReader proves that who may only look sees the acts of every page, none of
// which can be done, each with the reason, which Tab leads to and a screen reader says; and
// that an act whose form is forged is refused.
func TestConsoleOfAReader(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		_, c, b := console(t, d)
		rita, err := admin.New(c).Keys.Create(t.Context(), wire.NewKey{Name: "rita", Role: "reader"})
		if err != nil {
			t.Fatal(err)
		}
		b.signIn(rita.Secret)
		acts := 0
		for name, path := range consolePages(t, c) {
			if name == "sign-in" {
				continue
			}
			b.open(path)
			// A button of a form that asks, or that chooses columns, is for everybody; all others act.
			const buttons = `[...document.querySelectorAll("main button")].filter(x => !(x.form && (x.form.method === "get" || x.form.matches("[action=columns]"))))`
			for _, x := range eval[[]string](b, buttons+`.filter(x => x.type !== "button" || x.ariaDisabled !== "true" || x.hasAttribute("popovertarget")).map(x => x.outerHTML)`) {
				t.Errorf("%s: a reader can press %s", name, x)
			}
			for _, x := range eval[[]string](b, buttons+`.filter(x => x.tabIndex < 0 || x.disabled || !/may only look|Only an admin/.test(x.title)).map(x => x.outerHTML)`) {
				t.Errorf("%s: nothing says why a reader cannot press %s", name, x)
			}
			acts += eval[int](b, buttons+".length")
		}
		if acts < 30 {
			t.Errorf("a reader is shown %d acts", acts)
		}
		b.hearsWhy("admin", "main form[action$='/run'] button", "Only an admin's key runs jobs.")
		parked := waiting(t, c, "CO-1")
		b.hearsWhy("errors/"+parked.ID.String(), ".acts button", "A key of the role reader may only look.")
		b.open("errors/" + parked.ID.String())
		for token, want := range map[string]int{`document.querySelector("[name=csrf]").value`: 403, `"guessed"`: 403} {
			forged := fmt.Sprintf(`fetch(location.pathname + "/resolve", {method: "POST", body: new URLSearchParams({csrf: %s, reason: "no"})}).then(r => r.status)`, token)
			if got := eval[int](b, forged); got != want {
				t.Errorf("a forged act with the token %s is answered with %d", token, got)
			}
		}
		if e := waiting(t, c, "CO-1"); e.State != recoup.Parked {
			t.Errorf("a forged act has made it %s", e.State)
		}
	})
}

// hearsWhy fails the test unless Tab leads to a button that cannot be pressed, which then
// shows the reason, is described by it to a screen reader, and does nothing.
func (b *browser) hearsWhy(path, selector, why string) {
	b.Helper()
	b.open(path)
	b.tabTo(selector)
	if shown := eval[string](b, `getComputedStyle(document.activeElement, "::after").content`); shown != strconv.Quote(why) {
		b.Errorf("at %s the button shows %s", path, shown)
	}
	said, err := chromedp.Run(b.ctx, described)
	if err != nil || !slices.Contains(said, strconv.Quote(why)) {
		b.Errorf("at %s a screen reader says %q: %v", path, said, err)
	}
	here := eval[string](b, "location.href + document.querySelector('main').innerText.length")
	b.press("\r")
	if now := eval[string](b, "location.href + document.querySelector('main').innerText.length"); now != here {
		b.Errorf("at %s the button does something: %s, then %s", path, here, now)
	}
}

// described is what a screen reader says of the buttons of a page beside their names.
func described(ctx context.Context, t *chromedp.Target) (list []string, err error) {
	tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		return nil, err
	}
	for _, n := range tree.Nodes {
		if n.Role != nil && string(n.Role.Value) == `"button"` && n.Description != nil {
			list = append(list, string(n.Description.Value))
		}
	}
	return list, nil
}

// waiting is the error of an entity.
func waiting(t *testing.T, c *client.Client, entity string) recoup.Error {
	t.Helper()
	page, err := c.Errors.List(t.Context(), recoup.ErrorFilter{EntityID: entity}, client.Page{})
	if err != nil || len(page.Errors) != 1 {
		t.Fatalf("%s has %d errors: %v", entity, len(page.Errors), err)
	}
	return page.Errors[0]
}

// TestConsoleParkQueue proves that what waits for people is reviewed, assigned and unparked
// in the queue, and resolved on its own page.
func TestConsoleParkQueue(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		b.signIn(s.key())
		confirm := func(entity, key, question, field, text, done string) {
			t.Helper()
			b.open("park")
			b.click(`input[aria-label="Select VALIDATION_ERROR of ` + entity + `"]`)
			b.shows("1 selected")
			b.press(key)
			b.shows(question)
			b.fill("main input[name="+field+"]", text+"\r")
			b.shows(done)
		}
		confirm("CO-1", "v", "Review 1 error?", "reason", "seen", "Reviewed 1 error.")
		if e := waiting(t, c, "CO-1"); e.LastReviewedAt.IsZero() || !e.ReviewDueAt.IsZero() {
			t.Errorf("it was reviewed %s, and a review is due %s", e.LastReviewedAt, e.ReviewDueAt)
		}
		confirm("CO-2", "a", "Assign 1 error?", "to", "grace", "Assigned 1 error.")
		confirm("CO-3", "u", "Unpark 1 error?", "reason", "the register is back", "Unparked 1 error.")
		if e := waiting(t, c, "CO-3"); e.State != recoup.RetryPending {
			t.Errorf("what was unparked is %s", e.State)
		}
		b.open("park")
		b.shows("grace")
		if gone := eval[bool](b, `!document.body.innerText.includes("CO-3")`); !gone {
			t.Error("what was unparked is still in the queue")
		}
		b.open("errors/" + waiting(t, c, "CO-1").ID.String())
		b.press("r")
		b.fill("#act-resolve input[name=reason]", "corrected by hand\r")
		b.shows("Resolved 1 error.")
		b.shows("corrected by hand")
		b.quiet()
	})
}
