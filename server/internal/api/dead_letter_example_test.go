package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// pipelines is how many pipelines each of the two hubs has in a world's policy.
const pipelines = 100

// pipeline is one of the hub of a table, in turn. Of no table, it is one that was not
// used before, and the platform's.
func (w *world) pipeline(table string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entities++
	switch table {
	case dol, people:
		return fmt.Sprintf("%s-%d", map[string]string{dol: "filings", people: "people"}[table], w.entities%pipelines)
	}
	return fmt.Sprintf("criticizer-%d", w.entities)
}

// pipelinePolicy is the default policy, with pipelines for two hubs.
func pipelinePolicy(version string) string {
	text := policyText(version)
	for hub, name := range map[string]string{dolHub: "filings", peopleHub: "people"} {
		var list []string
		for i := range pipelines {
			list = append(list, fmt.Sprintf("%s-%d", name, i))
		}
		lead := "    lead: " + hub + "-lead\n"
		text = strings.Replace(text, lead, lead+"    pipelines: ["+strings.Join(list, ", ")+"]\n", 1)
	}
	return text
}

// withPipelines puts that policy in force.
func (w *world) withPipelines() *world {
	w.Helper()
	w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: pipelinePolicy("1.0.1"), Reason: "pipelines"}).ok()
	return w
}

// workID is an id that was not used before.
func (w *world) workID() recoup.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entities++
	return recoup.ID{0xaa, byte(w.entities >> 16), byte(w.entities >> 8), byte(w.entities), 15: 1}
}

// breakdown is work that failed for good.
func (w *world) breakdown(pipeline string) recoup.StageFailure {
	return recoup.StageFailure{
		WorkID: w.workID(), Pipeline: pipeline, Stage: "llm", Class: "VALIDATION_ERROR", LastStack: "decoding: missing field \"title\"",
		Context:        map[string]any{"attempts": map[string]any{"llm": 1}, "upstream": "openai", "upstream_status": 422},
		FirstFailureAt: epoch, LastFailureAt: epoch, PayloadRef: "s3://in/1", PayloadHash: "0123456789abcdef", Payload: []byte(`{"a":1}`),
	}
}

// letter makes a dead letter and takes it to a state of its workflow.
func (w *world) letter(step recoup.WorkflowStep) recoup.DeadLetter {
	w.Helper()
	return w.letterIn("", step)
}

// letterIn makes one of a pipeline of a table's hub.
func (w *world) letterIn(table string, step recoup.WorkflowStep) recoup.DeadLetter {
	w.Helper()
	var d recoup.DeadLetter
	w.post("/v1/dead-letters", w.breakdown(w.pipeline(table))).ok(&d)
	return w.taken(d, step)
}

// taken takes a dead letter through its workflow.
func (w *world) taken(d recoup.DeadLetter, step recoup.WorkflowStep) recoup.DeadLetter {
	w.Helper()
	at := "/v1/dead-letters/" + d.ErrorID.String()
	for d.Step != step {
		switch d.Step {
		case recoup.StepNew:
			w.post(at+"/triage", recoup.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted}).ok(&d)
		case recoup.StepTriaged:
			w.post(at+"/remediate", recoup.Remediation{Link: "https://tickets.example/1", Corrected: "the title"}).ok(&d)
		case recoup.StepRemediated:
			w.post(at+"/validate", recoup.Validation{Idempotent: true}).ok(&d)
		case recoup.StepValidated:
			w.post(at+"/replay", recoup.SingleReplay{Reason: "corrected"}).ok()
			d.Step = recoup.StepReplaying
		case recoup.StepReplaying:
			all := w.claimWork(d.Pipeline, d.Stage)
			held := all[slices.IndexFunc(all, func(other recoup.ClaimedWork) bool { return other.WorkID == d.WorkID })]
			w.post("/v1/work/"+held.WorkID.String()+"/succeed", recoup.WorkResult{LeaseToken: held.LeaseToken}).ok()
			d.Step = recoup.StepReplayed
		case recoup.StepReplayed:
			w.post(at+"/verify", recoup.Verification{Outcome: "DELIVERED", Note: "seen"}).ok(&d)
		}
	}
	return d
}

// submit puts work into the queue.
func (w *world) submit(pipeline, stage string) {
	w.Helper()
	var out recoup.WorkBatch
	w.post("/v1/work", recoup.NewWorkBatch{Work: []recoup.NewWorkItem{{Pipeline: pipeline, Stage: stage, Payload: []byte("in")}}}).ok(&out)
	if out.Items[0].Result == nil {
		w.Fatalf("not submitted: %s", out.Items[0].Failure)
	}
}

// claimWork claims what there is of a stage.
func (w *world) claimWork(pipeline, stage string) []recoup.ClaimedWork {
	w.Helper()
	var out recoup.WorkClaimed
	w.post("/v1/work/claim", recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: stage}}, Worker: "w", Limit: 100}).ok(&out)
	return out.Work
}

// held is work that a worker has.
func (w *world) held() recoup.ClaimedWork { w.Helper(); return w.heldIn("") }

// heldIn is work of a pipeline of a table's hub that a worker has.
func (w *world) heldIn(table string) recoup.ClaimedWork {
	w.Helper()
	pipeline := w.pipeline(table)
	w.submit(pipeline, "fetch")
	return w.claimWork(pipeline, "fetch")[0]
}

func letterExamples(list map[string]example) {
	list["POST /v1/dead-letters"] = example{make: func(w *world, table string) (string, any) { return "/v1/dead-letters", w.breakdown(w.pipeline(table)) }}
	list["GET /v1/dead-letters"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/dead-letters?error_class=validation_error&pipeline=" + w.pipeline(table), nil
	}}
	list["GET /v1/dead-letters/{id}"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		return "/v1/dead-letters/" + w.letterIn(table, recoup.StepValidated).ErrorID.String(), nil
	}}
	for verb, x := range map[string]struct {
		from recoup.WorkflowStep
		body any
	}{
		"triage":    {recoup.StepNew, recoup.Triage{Cause: recoup.CauseData, Stage: "llm", Class: "VALIDATION_ERROR", Exhausted: new(bool)}},
		"remediate": {recoup.StepTriaged, recoup.Remediation{Link: "INC-1", Corrected: "the title"}},
		"validate":  {recoup.StepRemediated, recoup.Validation{DuplicateSafe: "the receiver drops duplicates"}},
		"replay":    {recoup.StepValidated, recoup.SingleReplay{Reason: "corrected"}},
		"verify":    {recoup.StepReplayed, recoup.Verification{Outcome: "DELIVERED", Note: "seen"}},
		"payload":   {recoup.StepNew, recoup.DeadLetterPayloadRequest{Reason: "to see what is wrong"}},
	} {
		list["POST /v1/dead-letters/{id}/"+verb] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
			return "/v1/dead-letters/" + w.letterIn(table, x.from).ErrorID.String() + "/" + verb, x.body
		}}
		list["POST /v1/dead-letter-groups/{id}/"+verb] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
			return "/v1/dead-letter-groups/" + w.letterIn(table, x.from).GroupID.String() + "/" + verb, x.body
		}}
	}
	delete(list, "POST /v1/dead-letter-groups/{id}/replay")
	delete(list, "POST /v1/dead-letter-groups/{id}/payload")
	list["GET /v1/dead-letter-groups"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/dead-letter-groups?pipeline=" + w.pipeline(table), nil
	}}
	list["GET /v1/dead-letter-groups/{id}"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		return "/v1/dead-letter-groups/" + w.letterIn(table, recoup.StepNew).GroupID.String(), nil
	}}
	list["POST /v1/dead-letter-groups/{id}/note"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		return "/v1/dead-letter-groups/" + w.letterIn(table, recoup.StepNew).GroupID.String() + "/note", recoup.GroupNote{Owner: "ada", Note: "known"}
	}}
	replayExamples(list)
	queueExamples(list)
}

// shown is a replay of what a preview shows to a key.
func (w *world) shown(key string, s recoup.ReplaySelection) recoup.NewReplay {
	w.Helper()
	var p recoup.ReplayPreview
	w.do(key, http.MethodPost, "/v1/replays/preview", s).ok(&p)
	return recoup.NewReplay{Token: p.Token, Reason: "a try"}
}

func replayExamples(list map[string]example) {
	replay := func(w *world, table string) recoup.Replay {
		w.Helper()
		var r recoup.Replay
		w.post("/v1/replays", recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{w.letterIn(table, recoup.StepValidated).ErrorID}}, Reason: "corrected"}).ok(&r)
		return r
	}
	list["POST /v1/replays/preview"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/replays/preview", recoup.ReplaySelection{Pipeline: w.pipeline(table)}
	}}
	list["POST /v1/replays"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		d := w.letterIn(table, recoup.StepValidated)
		return "/v1/replays", recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{d.ErrorID}}, Plan: recoup.ReplayPlan{Rate: 2.5}, Reason: "corrected"}
	}}
	list["GET /v1/replays"] = fixed("/v1/replays?state=RUNNING", nil, leftOut)
	for _, sub := range []string{"", "/items"} {
		list["GET /v1/replays/{id}"+sub] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
			return "/v1/replays/" + replay(w, table).ID.String() + sub, nil
		}}
	}
	for _, act := range []string{"pause", "resume", "cancel"} {
		list["POST /v1/replays/{id}/"+act] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
			return "/v1/replays/" + replay(w, table).ID.String() + "/" + act, recoup.ReplayAct{Reason: "a try"}
		}}
	}
}

func queueExamples(list map[string]example) {
	list["POST /v1/work"] = example{other: leftOut, make: func(w *world, table string) (string, any) {
		return "/v1/work", recoup.NewWorkBatch{Work: []recoup.NewWorkItem{{Pipeline: w.pipeline(table), Stage: "fetch", Payload: []byte("in")}}}
	}}
	list["POST /v1/work/claim"] = example{make: func(w *world, table string) (string, any) {
		pipeline := w.pipeline(table)
		w.submit(pipeline, "fetch")
		return "/v1/work/claim", recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: "fetch"}}, Worker: "w"}
	}}
	failed := &recoup.StageFailure{
		Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: true, LastStack: "none",
		Context: map[string]any{"attempts": map[string]any{"llm": 5}}, FirstFailureAt: epoch, LastFailureAt: epoch,
	}
	for _, outcome := range []string{"succeed", "fail", "extend", "release"} {
		list["POST /v1/work/{id}/"+outcome] = example{other: lostThere, make: func(w *world, table string) (string, any) {
			held := w.heldIn(table)
			r := recoup.WorkResult{LeaseToken: held.LeaseToken}
			if outcome == "fail" {
				r.Failure = failed
			}
			return "/v1/work/" + held.WorkID.String() + "/" + outcome, r
		}}
	}
	list["POST /v1/work/results"] = example{other: leftOut, make: func(w *world, table string) (string, any) {
		held := w.heldIn(table)
		return "/v1/work/results", recoup.WorkResultBatch{Results: []recoup.WorkResult{{WorkID: held.WorkID, LeaseToken: held.LeaseToken, Outcome: "fail", Failure: failed}}}
	}}
	for _, verb := range []string{"progress", "forget"} {
		list["POST /v1/work/{id}/"+verb] = example{other: lostThere, make: func(w *world, table string) (string, any) {
			held := w.heldIn(table)
			return "/v1/work/" + held.WorkID.String() + "/" + verb, recoup.WorkLease{LeaseToken: held.LeaseToken}
		}}
	}
	list["PUT /v1/work/{id}/checkpoints/{stage}"] = example{other: lostThere, make: func(w *world, table string) (string, any) {
		held := w.heldIn(table)
		return "/v1/work/" + held.WorkID.String() + "/checkpoints/fetch", recoup.NewCheckpoint{LeaseToken: held.LeaseToken, Output: []byte("a page")}
	}}
	list["GET /v1/pauses"] = fixed("/v1/pauses", nil, leftOut)
	list["POST /v1/pauses"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/pauses", recoup.NewPause{PauseScope: recoup.PauseScope{Pipeline: w.pipeline(table), Stage: "paused"}, Reason: "the upstream is down"}
	}}
	list["DELETE /v1/pauses"] = example{make: func(w *world, table string) (string, any) {
		pipeline := w.pipeline(table)
		w.post("/v1/pauses", recoup.NewPause{PauseScope: recoup.PauseScope{Pipeline: pipeline, Stage: "paused"}, Reason: "the upstream is down"}).ok()
		return "/v1/pauses?stage=paused&pipeline=" + pipeline, nil
	}}
}
