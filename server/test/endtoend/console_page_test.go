package endtoend

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// consolePages are the pages of the console, with something on each: a batch, a replay, an
// alert and a bulk act are made for it.
func consolePages(t *testing.T, c *client.Client) map[string]string {
	t.Helper()
	d, e, intake := letter(t, c), waiting(t, c, "CO-1"), batch(t, c)
	alert, operation := stock(t, c)
	group := "dead-letters/groups/" + d.GroupID.String()
	return map[string]string{
		"dead-letters": "dead-letters", "dead-letter": "dead-letters/" + d.ErrorID.String(), "dead-letter-group": group, "replay-plan": group + "/replay", "operations": "operations", "alerts": "alerts",
		"replay": "replays/" + replay(t, c, d).String(), "sign-in": "sign-in", "now": "", "errors": "errors?state=PARKED", "error": "errors/" + e.ID.String(), "park": "park", "promotion": "promotion?entity=CO-1",
		"group": "groups/" + e.GroupID.String(), "find": "find?q=" + e.ID.String()[:7], "batch": "gate-zero/batches/spring", "intake": "gate-zero/intakes/" + intake.String(),
		"groups": "groups", "gate-zero": "gate-zero", "codes": "codes", "policy": "policy", "admin": "admin", "doctor": "doctor", "audit": "audit", "missing": "nowhere",
		"alert": "alerts/" + alert.String(), "operation": "operations/" + operation.String(),
	}
}

// batch makes a batch of Gate Zero with a company.
func batch(t *testing.T, c *client.Client) recoup.ID {
	t.Helper()
	if _, err := c.GateZero.CreateBatch(t.Context(), "spring"); err != nil {
		t.Fatal(err)
	}
	made, err := c.GateZero.CreateIntake(t.Context(), "spring", recoup.NewIntake{CompanyName: "Acme", Domain: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return made.Intake.ID
}

// replay replays work that failed at another stage than a dead letter did.
func replay(t *testing.T, c *client.Client, like recoup.DeadLetter) recoup.ID {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	like.Stage = "render"
	d, err := c.DeadLetters.Record(t.Context(), failing(like, recoup.ID{3, 15: 1}))
	must(err)
	_, err = c.DeadLetters.Triage(t.Context(), d.ErrorID, recoup.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted})
	must(err)
	_, err = c.DeadLetters.Remediate(t.Context(), d.ErrorID, recoup.Remediation{Link: "OPS-17", Corrected: "the address"})
	must(err)
	_, err = c.DeadLetters.Validate(t.Context(), d.ErrorID, recoup.Validation{Idempotent: true})
	must(err)
	r, err := c.DeadLetters.Replay(t.Context(), d.ErrorID, recoup.SingleReplay{Reason: "it is corrected"})
	must(err)
	return r.ID
}

// theme makes the browser one of a person who likes it so.
func (b *browser) theme(name string) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// themes are those that are looked at: both in make nightly, else one that depends on the
// day of the commit.
func themes(t *testing.T) []string {
	t.Helper()
	all := []string{"light", "dark"}
	if tier.Night() {
		return all
	}
	first, _ := tier.Quarter(t, 4)
	return all[first%2 : first%2+1]
}

// TestConsoleHasNoBarriers proves with axe that no page has what people with disabilities
// stumble over.
func TestConsoleHasNoBarriers(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	axe, err := os.ReadFile("accessibility/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s, c, b := console(t, live.SQLite(t))
	b.signIn(s.key())
	all := sights(t, c)
	first, end := tier.Quarter(t, len(all))
	for _, theme := range themes(t) {
		b.theme(theme)
		for _, at := range all[first:end] {
			b.look(at)
			name := at.name
			if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](string(axe)+"; true")); err != nil {
				t.Fatal(err)
			}
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
				JSON.stringify(r.violations.map(v => v.impact + " " + v.id + ": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary).join(" | "))))`, chromedp.EvalAwaitPromise))
			var violations []string
			if err != nil || json.Unmarshal([]byte(found), &violations) != nil {
				t.Fatalf("%s: %v\n%s", name, err, found)
			}
			for _, v := range violations {
				if strings.HasPrefix(v, "serious") || strings.HasPrefix(v, "critical") {
					t.Errorf("%s, %s: %.600s", name, theme, v)
				} else {
					t.Logf("%s, %s: %.300s", name, theme, v)
				}
			}
		}
	}
}

// roomOfLongRow puts a row with the longest verdict of a forecast into the last panel, and says what has
// no room: its name needs a third of the row, its verdict must end within the panel.
const roomOfLongRow = `(() => {
	const panel = [...document.querySelectorAll(".panel")].at(-1);
	panel.insertAdjacentHTML("beforeend", '<div class="list"><div class="row"><b>Park queue of people.people_errors</b><span class="state critical">up to 1 expire first, from 24 h on; 7 reviews missed, from 7 h on</span><div class="sub">19 parked</div></div></div>');
	const row = panel.lastElementChild.firstElementChild, [name, verdict] = row.children, box = e => e.getBoundingClientRect();
	return (box(name).width < box(row).width / 3 ? "its name has " + box(name).width + " of " + box(row).width + ". " : "") +
		(box(verdict).right > box(panel).right ? "its verdict ends " + (box(verdict).right - box(panel).right) + " outside the panel" : "");
})()`

// TestConsolePictures takes a picture of all that can be seen, in both themes and three widths, into
// the folder that is named in RECOUP_PICTURES: make console-pictures. No page is wider
// than its window, and no row than its panel.
func TestConsolePictures(t *testing.T) {
	tier.Only(t, tier.Browser)
	t.Parallel()
	s, c, b := console(t, live.SQLite(t))
	b.signIn(s.key())
	all := sights(t, c)
	first, end := tier.Quarter(t, len(all))
	for _, theme := range themes(t) {
		b.theme(theme)
		for _, width := range []int64{360, 1280, 1920}[:tier.Count(2, 3)] {
			b.do(chromedp.EmulateViewport(width, 1000))
			b.look(sight{name: "now", path: ""})
			if room, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](roomOfLongRow)); err != nil || room != "" {
				t.Errorf("a row with a long verdict in a window of %d: %s %v", width, room, err)
			}
			for _, at := range all[first:end] {
				b.look(at)
				name := at.name
				if wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth")); err != nil || int64(wide) > width {
					t.Errorf("%s is %d wide in a window of %d: %v", name, wide, width, err)
				}
				b.picture(name, theme, width)
			}
		}
	}
	b.quiet()
}

// picture keeps what the page looks like, if somebody wants to see it.
func (b *browser) picture(name, theme string, width int64) {
	b.Helper()
	folder := os.Getenv("RECOUP_PICTURES")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+"-"+theme+"-"+strconv.FormatInt(width, 10)+".png"), image, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}
