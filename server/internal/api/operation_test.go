package api_test

import (
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// frozenIn is an operation on one error of a table, which waits for its confirmation. A key
// may have a few of them only, so each is asked for by another.
func (w *world) frozenIn(table string) recoup.Operation {
	w.Helper()
	var key wire.Key
	w.post("/v1/keys", wire.NewKey{Name: w.entity(), Role: "operator"}).ok(&key)
	e := w.report(table, w.entity())
	var o recoup.FrozenOperation
	w.do("", http.MethodPost, "/v1/operations", recoup.NewOperation{Act: recoup.ActPark, Filter: recoup.ErrorFilter{Table: table, EntityID: e.EntityID}, Input: recoup.Act{Reason: "outage"}},
		"Authorization", "Bearer "+key.Secret).ok(&o)
	return o.Operation
}

// runningIn is such an operation once it is confirmed. No scheduler runs here.
func (w *world) runningIn(table string) recoup.Operation {
	w.Helper()
	o := w.frozenIn(table)
	w.post("/v1/operations/"+o.ID.String()+"/confirm", recoup.Act{Reason: "outage"}).ok(&o)
	return o
}

func operationExamples(list map[string]example) {
	list["POST /v1/operations"] = example{make: func(w *world, table string) (string, any) {
		e := w.report(table, w.entity())
		return "/v1/operations", recoup.NewOperation{Act: recoup.ActPark, Filter: recoup.ErrorFilter{Table: table, EntityID: e.EntityID}, Input: recoup.Act{Reason: "outage"}}
	}}
	list["GET /v1/operations"] = fixed("/v1/operations?state=FROZEN", nil, leftOut)
	for _, sub := range []string{"", "/items"} {
		list["GET /v1/operations/{id}"+sub] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
			return "/v1/operations/" + w.frozenIn(table).ID.String() + sub, nil
		}}
	}
	list["POST /v1/operations/{id}/confirm"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		return "/v1/operations/" + w.frozenIn(table).ID.String() + "/confirm", recoup.Act{Reason: "outage"}
	}}
	for _, act := range []string{"pause", "resume", "cancel"} {
		list["POST /v1/operations/{id}/"+act] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
			return "/v1/operations/" + w.runningIn(table).ID.String() + "/" + act, recoup.OperationAct{Reason: "a try"}
		}}
	}
}

// operated has an operation carried out on what a filter selects.
func (w *world) operated(act recoup.ActName, f recoup.ErrorFilter) (o recoup.Operation) {
	w.Helper()
	var frozen recoup.FrozenOperation
	w.post("/v1/operations", recoup.NewOperation{Act: act, Filter: f, Input: recoup.Act{Reason: "outage"}}).ok(&frozen)
	at := "/v1/operations/" + frozen.ID.String()
	w.post(at+"/confirm", recoup.Act{}).ok()
	w.post("/v1/jobs/operations/run", wire.JobRunRequest{Reason: "no scheduler runs here"}).ok()
	w.get(at).ok(&o)
	if o.State != recoup.OperationDone {
		w.Errorf("the operation is %+v", o)
	}
	return o
}

// An operation on every error is asked for by name.
func TestOperationOnEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.report(dol, w.entity())
	w.post("/v1/operations", recoup.NewOperation{Act: recoup.ActPark}).invalid("filter", "bulk")
	var o recoup.FrozenOperation
	if w.post("/v1/operations", recoup.NewOperation{Act: recoup.ActPark, All: true}).ok(&o); o.Members != 1 {
		t.Errorf("frozen %+v", o)
	}
}

func TestOperationByHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parked := w.report(dol, w.entity())
	w.post("/v1/errors/"+parked.ID.String()+"/park", recoup.Act{Reason: "look"}).ok()
	mine := w.report(dol, w.entity())
	var o recoup.FrozenOperation
	w.post("/v1/operations", recoup.NewOperation{Act: recoup.ActPark, Filter: recoup.ErrorFilter{Table: dol}}).ok(&o)
	if o.State != recoup.OperationFrozen || o.Members != 2 || o.Refused != 1 || len(o.Sample) != 2 || o.ExpiresAt.IsZero() || o.Sample[0].ErrorID != mine.ID {
		t.Fatalf("frozen %+v", o)
	}
	at := "/v1/operations/" + o.ID.String()
	w.post(at+"/confirm", recoup.Act{}).failed(http.StatusBadRequest, fault.CodeValidationError)
	w.post(at+"/pause", recoup.OperationAct{Reason: "a try"}).failed(http.StatusConflict, fault.CodeInvalidTransition)
	w.post(at+"/confirm", recoup.Act{Reason: "outage"}).ok(&o.Operation)
	if o.State != recoup.OperationRunning {
		t.Fatalf("confirmed %+v", o)
	}
	w.post("/v1/jobs/operations/run", wire.JobRunRequest{Reason: "no scheduler runs here"}).ok()
	w.get(at).ok(&o.Operation)
	if o.State != recoup.OperationDone || o.Applied != 1 || o.Refused != 1 {
		t.Errorf("done %+v", o.Operation)
	}
	var refused recoup.OperationItems
	w.get(at + "/items?result=REFUSED").ok(&refused)
	if len(refused.Items) != 1 || refused.Items[0].ErrorID != parked.ID || refused.Items[0].Code != fault.CodeInvalidTransition || refused.Items[0].Reason == "" {
		t.Errorf("refused %+v", refused)
	}
	var page recoup.OperationPage
	w.get("/v1/operations?state=DONE").ok(&page)
	if len(page.Operations) != 1 || page.Operations[0].ID != o.ID {
		t.Errorf("listed %+v", page)
	}
}
