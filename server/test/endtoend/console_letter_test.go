package endtoend

import (
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestConsoleDeadLetters proves that a group of dead letters is taken through its five steps,
// none of which can be skipped; that a replay that fails as before stops itself at its canary,
// which is seen live; and that it is resumed, paused and cancelled.
func TestConsoleDeadLetters(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		first := letter(t, c)
		for i := range 2 {
			if _, err := c.DeadLetters.Record(t.Context(), failing(first, recoup.ID{2, byte(i), 15: 1})); err != nil {
				t.Fatal(err)
			}
		}
		b.signIn(s.key())
		b.open("dead-letters")
		b.shows("3 dead letters wait to be set right")
		b.click("tr[data-row] a.strong")
		b.guide()
		b.click("#workflow a.primary")
		b.shows("Replay 3 dead letters?")
		b.fill("input[name=reason]", "it is back\r")
		b.shows("The replay has begun: of 3 dead letters.")
		at := eval[string](b, `location.pathname.split("/console/")[1]`)

		// It fails as before, and who looks at Operations sees that it has stopped.
		b.open("operations")
		b.shows("1 operation under way")
		fails(t, c, first)
		b.shows("No operation is under way, 1 paused")
		b.shows("canary")
		b.open(at)
		b.shows("1 of 3 dead letters have their result")
		b.shows("Paused by")
		b.shows("1 failed again")

		for _, act := range []struct{ label, done, state string }{
			{"resume", "The replay goes on.", "Running"}, {"pause", "The replay is paused.", "Paused"}, {"cancel", "The replay is cancelled.", "2 cancelled"},
		} {
			b.click(".acts button[popovertarget=act-" + act.label + "]")
			b.fill("#act-"+act.label+" input[name=reason]", "because\r")
			b.shows(act.done)
			b.shows(act.state)
		}
		if refused := eval[string](b, `document.querySelector(".acts button").title`); refused != "Not while the replay is cancelled." {
			t.Errorf("what is over can be paused: %q", refused)
		}
		b.quiet()
	})
}

// guide takes the first three steps of a group, each by its form, its preview and its
// confirmation. At any time there is one form.
func (b *browser) guide() {
	b.Helper()
	for _, step := range []struct {
		name, done string
		fill       func()
	}{
		{"triage", "Triaged 3 dead letters.", func() {
			b.choose("select[name=cause]", "TRANSIENT")
			b.click("input[name=stage]")
			b.click("input[name=error_class]")
			b.choose("select[name=exhausted]", "yes")
		}},
		{"remediate", "Recorded the remediation of 3 dead letters.", func() {
			b.fill("input[name=upstream_checked]", "its status page")
			b.fill("input[name=link]", "OPS-17")
		}},
		{"validate", "Validated 3 dead letters.", func() { b.click("input[name=idempotent]") }},
	} {
		form := "#workflow form[action$='/" + step.name + "']"
		b.until(`document.querySelector("` + form + `") !== null`)
		if n := eval[int](b, `document.querySelectorAll("#workflow form, #workflow a.primary").length`); n != 1 {
			b.Errorf("before %s there are %d forms:\n%s", step.name, n, b.text())
		}
		step.fill()
		b.click(form + " button")
		b.shows("Nothing has been changed yet.")
		b.click("form[action$='/confirm'] button")
		b.shows(step.done)
	}
}

// letter is the dead letter that there is.
func letter(t *testing.T, c *client.Client) recoup.DeadLetter {
	t.Helper()
	page, err := c.DeadLetters.List(t.Context(), recoup.DeadLetterFilter{}, client.Page{})
	if err != nil || len(page.DeadLetters) != 1 {
		t.Fatalf("there are %d dead letters: %v", len(page.DeadLetters), err)
	}
	return page.DeadLetters[0]
}

// failing is how other work fails as a dead letter did.
func failing(d recoup.DeadLetter, work recoup.ID) recoup.StageFailure {
	return recoup.StageFailure{
		WorkID: work, Pipeline: d.Pipeline, Stage: d.Stage, Class: d.Class, Exhausted: true, LastStack: "dial: timeout",
		Context: map[string]any{"attempts": map[string]any{d.Stage: 5}}, FirstFailureAt: d.FirstFailureAt, LastFailureAt: d.LastFailureAt,
	}
}

// fails is a worker that claims what is replayed, and fails as before.
func fails(t *testing.T, c *client.Client, d recoup.DeadLetter) {
	t.Helper()
	work, err := c.Work.Claim(t.Context(), recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: d.Pipeline, Stage: d.Stage}}, Worker: "w1", WaitSeconds: 30})
	if err != nil || len(work) != 1 {
		t.Fatalf("of the canary %d are to be had: %v", len(work), err)
	}
	failure := failing(d, recoup.ID{})
	failure.Pipeline, failure.Exhausted, failure.Final = "", false, true
	if _, err := c.Work.Result(t.Context(), recoup.WorkResult{WorkID: work[0].WorkID, LeaseToken: work[0].LeaseToken, Outcome: "fail", Failure: &failure}); err != nil {
		t.Fatal(err)
	}
}
