package endtoend

import (
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// console starts a node with some errors, and a browser at its console.
func console(t *testing.T, d database) (*site, *client.Client, *browser) {
	t.Helper()
	s := newSite(t, d)
	s.start()
	c := s.client(func(error) {})
	var last recoup.Reported
	for _, entity := range []string{"CO-1", "CO-2", "CO-3"} {
		var err error
		if last, err = c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: entity, Code: "VALIDATION_ERROR", Message: "no such number"}); err != nil {
			t.Fatal(err)
		}
	}
	failure := recoup.StageFailure{
		WorkID: recoup.ID{1, 15: 1}, Pipeline: "criticizer", Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: true, LastStack: "dial: timeout",
		Context: map[string]any{"attempts": map[string]any{"llm": 5}}, FirstFailureAt: last.Error.CreatedAt, LastFailureAt: last.Error.CreatedAt,
	}
	if _, err := c.DeadLetters.Record(t.Context(), failure); err != nil {
		t.Fatal(err)
	}
	return s, c, openBrowser(t, "http://"+*s.address.Load()+"/console/")
}

func (b *browser) signIn(key string) {
	b.Helper()
	b.open("sign-in")
	b.fill("input[name=key]", key+"\r")
	b.until("document.querySelector('live-state') !== null && document.readyState === 'complete'")
}

// TestConsole proves by a real browser that an operator signs in, finds, selects, confirms
// and is told, with the keyboard alone, and that the page follows what others do.
func TestConsole(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		b.open("errors")
		b.fill("input[name=key]", "rk_wrong\r")
		b.shows("unknown or was revoked")
		b.fill("input[name=key]", s.key()+"\r")
		b.shows("CO-2") // where it was going

		// By keyboard: the list, two rows, resolve, reason.
		b.open("park")
		b.press("ge")
		b.until("location.pathname.endsWith('/console/errors') && document.readyState === 'complete'")
		b.press("jj") // the first is a dead letter, which has acts of its own
		b.press("x")
		b.press("j")
		b.press("x")
		b.shows("2 selected")
		b.press("r")
		b.shows("Resolve 2 errors?")
		b.fill("input[name=reason]", "corrected at the source\r")
		b.shows("Resolved 2 errors.")

		// What others do is seen.
		b.open("errors?entity=CO-9")
		b.shows("Nothing matches.")
		if _, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-9", Code: "VALIDATION_ERROR", Message: "new"}); err != nil {
			t.Fatal(err)
		}
		b.shows("CO-9")
		b.until("document.querySelector('tr[data-row]') !== null")

		// One error, and an act on it.
		b.press("j")
		b.press("\r")
		b.shows("What happened, what comes next")
		b.until("document.readyState === 'complete'")
		b.press("a")
		b.fill("#act-assign input[name=to]", "grace\r")
		b.shows("Assigned 1 error.")
		b.quiet()

		// Signing out.
		b.click(".menu summary")
		b.click("form[action='sign-out'] button")
		b.shows("Sign in with an API key")
		b.open("errors")
		b.shows("Sign in with an API key")
	})
}

// TestConsoleSurvivesARestart proves that a page says that the server is gone, and goes on by
// itself once it is back, signed in as before.
func TestConsoleSurvivesARestart(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, _, b := console(t, d)
		b.signIn(s.key())
		b.open("errors")
		b.until("document.querySelector('live-state').dataset.state === 'live'")
		s.flags = append(s.flags, "--listen", *s.address.Load())
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		b.shows("server unreachable")
		s.start()
		if _, err := s.client(func(error) {}).Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-8", Code: "VALIDATION_ERROR", Message: "after"}); err != nil {
			t.Fatal(err)
		}
		b.shows("CO-8")
		b.until("document.querySelector('live-state').dataset.state === 'live'")
		if shown := b.text(); strings.Contains(shown, "unreachable") {
			t.Errorf("the page says\n%s", shown)
		}
	})
}
