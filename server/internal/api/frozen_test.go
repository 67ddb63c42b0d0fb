package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// worlds are one on each store.
func worlds(t *testing.T, run func(w *world)) {
	t.Helper()
	for name, open := range map[string]func(*testing.T) *world{
		"sqlite":   func(t *testing.T) *world { return newWorld(t) },
		"postgres": newPostgresWorld,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(open(t))
		})
	}
}

// A filter that says false leaves out what is, and one that says nothing leaves out
// nothing.
func TestFiltersThatSayNo(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		due, parked := w.report(dol, "CO-1"), w.report(dol, "CO-2")
		w.post("/v1/errors/"+parked.ID.String()+"/park", recoup.Act{Reason: "wait"}).ok()
		done := w.report(dol, "CO-3")
		w.post("/v1/errors/"+done.ID.String()+"/resolve", recoup.Act{Reason: "done"}).ok()
		for filter, want := range map[string][]recoup.ID{
			"":                            {done.ID, parked.ID, due.ID},
			"parked=true":                 {parked.ID},
			"parked=false":                {done.ID, due.ID},
			"blocking=true":               {parked.ID, due.ID},
			"blocking=false":              {done.ID},
			"blocking=true&parked=false":  {due.ID},
			"blocking=false&parked=true":  {},
			"parked=false&table=" + dol:   {done.ID, due.ID},
			"entity_id=CO-1&parked=false": {due.ID},
		} {
			var page recoup.ErrorPage
			w.get("/v1/errors?" + filter).ok(&page)
			if got := idsOf(page.Errors); !sameIDs(got, want) {
				w.Errorf("%q lists %v, want %v", filter, got, want)
			}
		}
		var out recoup.FrozenOperation
		w.post("/v1/operations", `{"act":"park","filter":{"blocking":false}}`).ok(&out)
		if out.Members != 1 {
			w.Errorf("an operation on what does not block has %d members", out.Members)
		}
		w.post("/v1/operations", `{"act":"park","filter":{"parked":false,"table":"`+dol+`"}}`).ok(&out)
		if out.Members != 2 {
			w.Errorf("an operation on what is not parked has %d members", out.Members)
		}
	})
}

func idsOf(list []recoup.Error) (ids []recoup.ID) {
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

func sameIDs(a, b []recoup.ID) bool {
	in := map[recoup.ID]bool{}
	for _, id := range a {
		in[id] = true
	}
	for _, id := range b {
		if !in[id] {
			return false
		}
	}
	return len(a) == len(b)
}

// What a preview has shown is what is acted on: not what the filter selects by then,
// and not what has changed since.
func TestBulkActsOnWhatThePreviewHasShown(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		same, changed, resolved := w.report(dol, "CO-1"), w.report(dol, "CO-2"), w.report(dol, "CO-3")
		ask := recoup.BulkAct{Act: recoup.Act{Reason: "outage"}, IDs: []recoup.ID{same.ID, changed.ID, resolved.ID}, Preview: true}
		var seen, out recoup.BulkResult
		w.post("/v1/errors/park", ask).ok(&seen)
		w.wait(time.Minute)
		w.post("/v1/errors/"+changed.ID.String()+"/park", recoup.Act{Reason: "mine"}).ok()
		w.post("/v1/errors/"+changed.ID.String()+"/unpark", recoup.Act{Reason: "not any more"}).ok()
		w.post("/v1/errors/"+resolved.ID.String()+"/resolve", recoup.Act{Reason: "done"}).ok()
		late := w.report(dol, "CO-4")

		w.post("/v1/errors/archive", recoup.BulkAct{Act: ask.Act, Token: seen.Token}).invalid("token", "act")
		w.post("/v1/errors/park", recoup.BulkAct{Act: ask.Act, Token: seen.Token[:len(seen.Token)-4]}).invalid("token", "format")
		w.post("/v1/errors/park", recoup.BulkAct{Act: ask.Act, Token: seen.Token, IDs: ask.IDs}).invalid("token", "bulk")

		w.post("/v1/errors/park", recoup.BulkAct{Act: ask.Act, Token: seen.Token}).ok(&out)
		if seen.Matched != 3 || out.Matched != 3 || out.Applied != 1 || len(out.Refused) != 2 {
			w.Fatalf("previewed %+v, done %+v", seen, out)
		}
		for _, r := range out.Refused {
			if !strings.Contains(r.Reason, "changed since the preview") {
				w.Errorf("refused because %s", r.Reason)
			}
		}
		for id, want := range map[recoup.ID]recoup.State{
			same.ID: recoup.Parked, changed.ID: recoup.RetryPending, resolved.ID: recoup.Resolved, late.ID: recoup.RetryPending,
		} {
			var e recoup.Error
			w.get("/v1/errors/" + id.String()).ok(&e)
			if e.State != want {
				w.Errorf("%s is %s, want %s", e.EntityID, e.State, want)
			}
		}
		w.wait(20 * time.Minute)
		w.post("/v1/errors/park", recoup.BulkAct{Act: ask.Act, Token: seen.Token}).invalid("token", "expired")
	})
}

// A replay is of what its preview has shown: not of what became ready meanwhile, and
// not of what has changed since. A filter without its preview is refused.
func TestReplayActsOnWhatThePreviewHasShown(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		pipeline := w.pipeline("")
		ready := func() recoup.DeadLetter {
			var d recoup.DeadLetter
			w.post("/v1/dead-letters", w.breakdown(pipeline)).ok(&d)
			return w.taken(d, recoup.StepValidated)
		}
		same, changed, gone := ready(), ready(), ready()
		asked := recoup.ReplaySelection{Pipeline: pipeline}
		w.post("/v1/replays", recoup.NewReplay{ReplaySelection: asked, Reason: "r"}).invalid("token", "required")
		w.post("/v1/replays", recoup.NewReplay{Reason: "r"}).invalid("token", "required") // not all, which would ask for a token next
		seen := w.shown("operator", asked)
		w.wait(time.Minute)
		late := ready()
		w.post("/v1/dead-letters/"+changed.ErrorID.String()+"/validate", recoup.Validation{Idempotent: true, Note: "looked again"}).ok()
		w.post("/v1/errors/"+gone.ErrorID.String()+"/archive", recoup.Act{Reason: "not needed"}).ok()

		both := seen
		both.ReplaySelection = asked
		w.post("/v1/replays", both).invalid("token", "exclusive")
		cut := seen
		cut.Token = cut.Token[:len(cut.Token)-4]
		w.post("/v1/replays", cut).invalid("token", "format")
		other := seen
		var bulk recoup.BulkResult
		w.post("/v1/errors/review", recoup.BulkAct{IDs: []recoup.ID{same.ErrorID}, Preview: true}).ok(&bulk)
		other.Token = bulk.Token
		w.post("/v1/replays", other).invalid("token", "act")

		var r recoup.Replay
		w.post("/v1/replays", seen).ok(&r)
		var items recoup.ReplayItems
		w.get("/v1/replays/" + r.ID.String() + "/items").ok(&items)
		if r.Members != 1 || len(items.Items) != 1 || items.Items[0].ErrorID != same.ErrorID || r.Why != "2 of 3 have changed since the preview and are left out" {
			w.Errorf("of %s shown, %s late, it is %+v with %+v", same.ErrorID, late.ErrorID, r, items)
		}
		w.post("/v1/replays", seen).failed(http.StatusUnprocessableEntity, fault.CodeBusinessRuleViolation)
		w.wait(20 * time.Minute)
		w.post("/v1/replays", seen).invalid("token", "expired")
	})
}

// A token is no permission: one that is made up of another hub's dead letters does
// nothing to them.
func TestMadeUpTokensOfAnotherHub(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		w.withPipelines()
		key := "operator" + onlyDOL
		mine, theirs := w.letterIn(dol, recoup.StepTriaged), w.letterIn(people, recoup.StepTriaged)
		madeUp := func(act, hub string, letters ...recoup.DeadLetter) string {
			f := engine.PreviewSet{Act: act, Hub: hub, Until: w.clock().Add(engine.PreviewLife)}
			for _, d := range letters {
				f.Members = append(f.Members, engine.Member{ID: d.ErrorID})
			}
			return f.Token()
		}
		var out recoup.BulkResult
		w.do(key, http.MethodPost, "/v1/dead-letter-groups/"+mine.GroupID.String()+"/remediate", recoup.GroupRemediation{
			Remediation: recoup.Remediation{Link: "INC-1", Corrected: "the title"},
			ForGroup:    recoup.ForGroup{Token: madeUp("remediate "+mine.GroupID.String(), "", mine, theirs)},
		}).ok(&out)
		if out.Applied != 1 || len(out.Refused) != 1 || out.Refused[0].ID != theirs.ErrorID || !strings.Contains(out.Refused[0].Reason, "nothing of that name or id") {
			w.Errorf("a made-up token of a group does %+v", out)
		}
		w.stands(theirs, recoup.StepTriaged)

		mine, theirs = w.letterIn(dol, recoup.StepValidated), w.taken(theirs, recoup.StepValidated)
		var r recoup.Replay
		w.do(key, http.MethodPost, "/v1/replays", recoup.NewReplay{Token: madeUp("replay", "", mine, theirs), Reason: "r"}).ok(&r)
		if r.Members != 1 {
			w.Errorf("a made-up token is a replay of %d", r.Members)
		}
		w.do(key, http.MethodPost, "/v1/replays", recoup.NewReplay{Token: madeUp("replay", peopleHub, theirs), Reason: "r"}).failed(http.StatusNotFound, fault.CodeNotFound)
		w.post("/v1/replays", recoup.NewReplay{Token: madeUp("replay", dolHub, theirs), Reason: "r"}).failed(http.StatusNotFound, fault.CodeNotFound)
		w.stands(theirs, recoup.StepValidated)
	})
}

// stands fails the test unless a dead letter is in a state of its workflow.
func (w *world) stands(d recoup.DeadLetter, step recoup.WorkflowStep) {
	w.Helper()
	var now recoup.DeadLetterDetails
	w.get("/v1/dead-letters/" + d.ErrorID.String()).ok(&now)
	if now.Step != step {
		w.Errorf("a dead letter is %s, want %s", now.Step, step)
	}
}

// Of replays of one dead letter that are asked for at once, one is made: the others
// are answered that it is under way.
func TestParallelReplaysOfOneDeadLetter(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		d := w.letter(recoup.StepValidated)
		const askers = 8
		answers := make([]*answer, askers)
		var all sync.WaitGroup
		for i := range askers {
			r := w.request("operator", http.MethodPost, "/v1/dead-letters/"+d.ErrorID.String()+"/replay", recoup.SingleReplay{Reason: "corrected"})
			all.Go(func() { answers[i] = w.send(r) })
		}
		all.Wait()
		won := 0
		for _, a := range answers {
			if a.Code == http.StatusCreated {
				won++
				continue
			}
			if e := a.failed(http.StatusConflict, fault.CodeInvalidTransition); e.Details["reason"] != "REPLAYING" {
				w.Errorf("refused with %v", e.Details)
			}
		}
		if won != 1 {
			w.Errorf("%d replays were made of one dead letter", won)
		}
		if held := w.claimWork(d.Pipeline, d.Stage); len(held) != 1 {
			w.Errorf("%d pieces of work came of it", len(held))
		}
	})
}
