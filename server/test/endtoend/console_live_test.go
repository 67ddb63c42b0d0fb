package endtoend

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestConsoleIsLive proves that pages of dead letters, operations and alerts show what others
// do, in place and told by the stream alone, and that a list in which somebody selects stands
// still until they are done.
func TestConsoleIsLive(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		dead, parked := letter(t, c), waiting(t, c, "CO-1")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		// open goes to a page that is not loaded again, and hears what happens.
		open := func(path string) {
			t.Helper()
			b.open(path)
			b.until("document.querySelector('live-state').dataset.state === 'live'")
			must(first(c.Report(t.Context(), recoup.Report{Table: "people.people_errors", EntityID: "CO-" + path, Code: "NETWORK_TIMEOUT", Message: "hark"})))
			b.until("(document.body.addEventListener('recoup:changed', () => window.heard = true, {once: true}), window.heard === true)")
			eval[bool](b, "window.same = true")
		}
		b.signIn(s.key())

		open("dead-letters/groups/" + dead.GroupID.String())
		must(first(c.DeadLetters.Triage(t.Context(), dead.ErrorID, recoup.Triage{Cause: recoup.CauseTransient, Stage: dead.Stage, Class: dead.Class, Exhausted: &dead.Exhausted})))
		b.until(`window.same && document.querySelector("#list tbody .state")?.textContent === "Triaged"`)

		open("operations")
		o, err := c.Operations.Create(t.Context(), recoup.NewOperation{Act: recoup.ActReview, Filter: recoup.ErrorFilter{State: recoup.Parked, Table: "outreach.dol_errors"}})
		must(err)
		b.until(`window.same && document.querySelector("#list").innerText.includes("Not confirmed")`)
		must(first(c.Operations.Confirm(t.Context(), o.ID, recoup.Act{Reason: "seen"})))
		b.until(`window.same && document.querySelector("#list").innerText.includes("review: seen") && document.querySelector("#list .state.resolved") !== null`)

		open("alerts")
		clock := time.Now
		must(first(admin.New(c).Alerts.Silence(t.Context(), wire.NewSilence{Rule: "park-rate", Until: clock().Add(time.Hour), Reason: "we know"})))
		b.until(`window.same && document.querySelector("#list").innerText.includes("we know")`)

		open("errors")
		b.shows("CO-errors") // or the rows move while the box is clicked
		b.click(`input[value="` + parked.ID.String() + `"]`)
		must(first(c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-LATER", Code: "NETWORK_TIMEOUT", Message: "late"})))
		b.until("document.querySelector('live-state').dataset.state === 'still'")
		if eval[bool](b, `document.body.innerText.includes("CO-LATER") || !document.querySelector("input[name=id]:checked")`) {
			t.Errorf("a list in which somebody selects moves:\n%s", b.text())
		}
		b.click(`input[value="` + parked.ID.String() + `"]`)
		b.shows("CO-LATER")
		b.quiet()
	})
}

// first is the error of a call whose answer is of no interest.
func first[T any](_ T, err error) error { return err }
