package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
)

// members are those of an object, by name.
func members(w *world, r *answer, path ...string) []string {
	w.Helper()
	raw := json.RawMessage(r.Body.Bytes())
	for _, name := range path {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			raw = object[name]
		}
		if json.Unmarshal(raw, &list) == nil {
			raw = list[0]
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		w.Fatalf("%v: %s", err, r.Body)
	}
	return slices.Sorted(maps.Keys(object))
}

// The token of a lease is for the worker that has claimed the work, and goes on being
// its own when it extends the lease; whoever else asks sees who has it and until when.
func TestTokenOfWorkIsItsWorkers(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		pipeline, id := w.pipeline(""), w.workID()
		batch := recoup.NewWorkBatch{Work: []recoup.NewWorkItem{{WorkID: id, Pipeline: pipeline, Stage: "fetch", PayloadRef: "r", PayloadHash: "00ff", Payload: []byte("in")}}}
		waits := []string{"created_at", "due_at", "payload_hash", "payload_ref", "pipeline", "stage", "work_id"}
		wants := func(r *answer, more []string, path ...string) {
			w.Helper()
			if got, want := members(w, r, path...), slices.Sorted(slices.Values(slices.Concat(waits, more))); !slices.Equal(got, want) {
				w.Errorf("has %v, want %v", got, want)
			}
		}
		seen := []string{"claims", "lease_ends_at", "lease_worker", "leased_at"}

		wants(w.post("/v1/work", batch), nil, "items", "result")
		claimed := w.post("/v1/work/claim", recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: "fetch"}}, Worker: "w"})
		wants(claimed, append(seen, "lease_token", "payload"), "work")
		var held recoup.WorkClaimed
		claimed.ok(&held)
		wants(w.post("/v1/work", batch), seen, "items", "result")

		at, result := "/v1/work/"+id.String(), recoup.WorkResult{LeaseToken: held.Work[0].LeaseToken}
		wants(w.post(at+"/extend", result), append(seen, "lease_token"), "work")
		wants(w.post(at+"/release", result), []string{"claims"}, "work")
	})
}

// A result that says how it failed and that it did not, or that it failed and not how,
// is refused, alone and among many, whatever the worker's lease is.
func TestOutcomeAndFailureGoTogether(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		held := w.held()
		failure := w.breakdown(held.Pipeline)
		for outcome, r := range map[string]recoup.WorkResult{
			"fail": {LeaseToken: held.LeaseToken}, "succeed": {LeaseToken: held.LeaseToken, Failure: &failure}, "release": {LeaseToken: held.LeaseToken, Failure: &failure},
		} {
			rule := map[bool]string{true: "required", false: "outcome"}[outcome == "fail"]
			w.post("/v1/work/"+held.WorkID.String()+"/"+outcome, r).invalid("failure", rule)
			r.WorkID, r.Outcome = held.WorkID, outcome
			var out recoup.WorkDoneBatch
			w.post("/v1/work/results", recoup.WorkResultBatch{Results: []recoup.WorkResult{r}}).ok(&out)
			if out.Items[0].Failure == nil {
				w.Errorf("%s was taken: %+v", outcome, out.Items[0].Result)
			}
		}
		w.post("/v1/work/"+held.WorkID.String()+"/succeed", recoup.WorkResult{LeaseToken: held.LeaseToken}).ok()
	})
}
