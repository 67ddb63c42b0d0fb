package api_test

import (
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Spec 002, 8.5: a replay that fails again with the same permanent failure puts the
// work back among the dead letters, for engineering to review; any other failure
// puts it back for its team.
func TestSpec002FailsAgain(t *testing.T) {
	onBothStores(t, func(w *world) {
		for _, row := range []struct {
			then recoup.Code
			tier int
		}{{"VALIDATION_ERROR", 2}, {"INVALID_API_KEY", 1}} {
			d := w.letter(recoup.StepReplaying)
			held := w.claimWork(d.Pipeline, d.Stage)[0]
			again := w.breakdown(d.Pipeline)
			again.Class = row.then
			w.post("/v1/work/"+held.WorkID.String()+"/fail", recoup.WorkResult{LeaseToken: held.LeaseToken, Failure: &again}).ok()
			now, e := w.details(d), recoup.Error{}
			w.get("/v1/errors/" + d.ErrorID.String()).ok(&e)
			if now.Step != recoup.StepNew || len(now.Rounds) != 2 || now.Class != row.then {
				w.Errorf("%s again: step %s, class %s, %d rounds", row.then, now.Step, now.Class, len(now.Rounds))
			}
			if e.EscalationLevel != row.tier || e.Disposition != "PARKED" || (row.tier == 2) != (e.State == recoup.Escalated) {
				w.Errorf("%s again: %s on tier %d", row.then, e.State, e.EscalationLevel)
			}
			refused := w.post("/v1/dead-letters/"+d.ErrorID.String()+"/replay", recoup.SingleReplay{Reason: "again"}).failed(http.StatusConflict, fault.CodeInvalidTransition)
			if refused.Details["missing_step"] != "triage" {
				w.Errorf("the new round begins with %v", refused.Details)
			}
		}
	})
}

// Spec 002, 8.5, step 4: a replay begins at the stage that failed, with what was
// known of the work; all of the pipeline is run again only on request.
func TestSpec002ReplayBegins(t *testing.T) {
	onBothStores(t, func(w *world) {
		for _, row := range []struct{ from, begins, idle string }{{"", "llm", "fetch"}, {"fetch", "fetch", "llm"}} {
			d := w.letter(recoup.StepValidated)
			w.post("/v1/dead-letters/"+d.ErrorID.String()+"/replay", recoup.SingleReplay{FromStart: row.from, Reason: "corrected"}).ok()
			if n := len(w.claimWork(d.Pipeline, row.idle)); n > 0 {
				w.Errorf("from %q: there is work at %s", row.from, row.idle)
			}
			work := w.claimWork(d.Pipeline, row.begins)
			if len(work) != 1 || work[0].WorkID != d.WorkID || work[0].PayloadRef != d.PayloadRef || len(work[0].Context) == 0 {
				w.Errorf("from %q: at %s there is %+v", row.from, row.begins, work)
			}
		}
	})
}
