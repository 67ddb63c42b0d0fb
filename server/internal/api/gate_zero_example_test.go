package api_test

import (
	"net/http"
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// batch makes a batch of Gate Zero.
func (w *world) batch() string {
	w.Helper()
	id := w.entity()
	w.post("/v1/gate-zero/batches", recoup.NewIntakeBatch{ID: id}).ok()
	return id
}

// intake takes in a candidate, into a batch or into none.
func (w *world) intake(batch string) recoup.Intake {
	w.Helper()
	var made recoup.IntakeCreated
	w.post("/v1/gate-zero/intakes?batch_id="+url.QueryEscape(batch), recoup.NewIntake{CompanyName: "Acme", Domain: "acme.example"}).ok(&made)
	return made.Intake
}

// verdict records a result, and returns what came of it.
func (w *world) verdict(r recoup.GateZeroResult) (recoup.GateZeroRecorded, error) {
	w.Helper()
	var out recoup.GateZeroRecordedBatch
	w.do("worker", http.MethodPost, "/v1/gate-zero/results", recoup.GateZeroResults{Results: []recoup.GateZeroResult{r}}).ok(&out)
	return client.Item[recoup.GateZeroRecorded](out.Items[0]).Get()
}

// fails takes in a candidate and fails it.
func (w *world) fails(batch, reason string) recoup.Recovery {
	w.Helper()
	i := w.intake(batch)
	done, err := w.verdict(recoup.GateZeroResult{IntakeID: i.ID, Verdict: recoup.VerdictFail, Reason: reason})
	if err != nil {
		w.Fatal(err)
	}
	return *done.Recovery
}

// gateWork claims everything that is to be had.
func (w *world) gateWork(what string) []recoup.GateZeroWork {
	w.Helper()
	var out recoup.GateZeroClaimed
	w.do("worker", http.MethodPost, "/v1/gate-zero/claim", recoup.GateZeroClaim{Worker: "w1", Limit: 1000, What: what}).ok(&out)
	return out.Work
}

func gateZeroExamples(list map[string]example) {
	const at = "/v1/gate-zero"
	for _, path := range []string{"/status", "/batches", "/intakes", "/recoveries"} {
		list["GET "+at+path] = fixed(at+path, nil, refusedThere)
	}
	list["POST "+at+"/batches"] = example{make: func(w *world, _ string) (string, any) {
		return at + "/batches", recoup.NewIntakeBatch{ID: w.entity()}
	}}
	list["GET "+at+"/batches/{batch_id}"] = example{make: func(w *world, _ string) (string, any) { return at + "/batches/" + w.batch(), nil }}
	list["POST "+at+"/batches/{batch_id}/complete"] = example{make: func(w *world, _ string) (string, any) {
		return at + "/batches/" + w.batch() + "/complete", recoup.IntakeBatchAct{Reason: "that is all"}
	}}
	list["POST "+at+"/intakes"] = fixed(at+"/intakes", recoup.NewIntake{CompanyName: "Acme"}, refusedThere)
	list["POST "+at+"/intakes/import"] = example{make: func(w *world, _ string) (string, any) {
		return at + "/intakes/import?batch_id=" + w.batch(), recoup.IntakeImport{Intakes: []recoup.NewIntake{{CompanyName: "Acme"}}}
	}}
	list["GET "+at+"/intakes/{id}"] = example{make: func(w *world, _ string) (string, any) {
		return at + "/intakes/" + w.fails("", "TIMEOUT").IntakeID.String(), nil
	}}
	list["GET "+at+"/recoveries/{id}"] = example{make: func(w *world, _ string) (string, any) {
		return at + "/recoveries/" + w.fails("", "STATE_MISMATCH").ID.String(), nil
	}}
	list["POST "+at+"/claim"] = example{make: func(w *world, _ string) (string, any) {
		w.fails("", "TIMEOUT")
		w.wait(24 * time.Hour)
		return at + "/claim", recoup.GateZeroClaim{Worker: "w1"}
	}}
	list["POST "+at+"/results"] = example{make: func(w *world, _ string) (string, any) {
		return at + "/results", recoup.GateZeroResults{Results: []recoup.GateZeroResult{
			{IntakeID: w.intake("").ID, Verdict: recoup.VerdictFail, Reason: "DOMAIN_NOT_FOUND"},
		}}
	}}
	const killSwitch = "/cl/gate-zero/kill-switch"
	for method, body := range map[string]any{"GET": nil, "POST": recoup.IntakeBatchAct{Reason: "a bad file"}, "DELETE": recoup.IntakeBatchAct{}} {
		list[method+" "+killSwitch] = example{make: func(w *world, _ string) (string, any) { return killSwitch + "?batch_id=" + w.batch(), body }}
	}
}
