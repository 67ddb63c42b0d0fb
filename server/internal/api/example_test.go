package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// effect is what a key for one hub makes of a call that concerns another.
type effect int

const (
	refusedThere effect = iota // INSUFFICIENT_PERMISSIONS
	unknownThere               // NOT_FOUND, as of what is not there
	lostThere                  // LEASE_LOST, as of work that nobody has submitted
	leftOut                    // it is answered, and what belongs to the other is left out or not concerned
)

// example makes a call that succeeds, whatever was called before: what it needs is
// made anew, in a table of the caller's choice.
type example struct {
	make  func(w *world, table string) (path string, body any)
	other effect
}

// entity is a name that was not used before.
func (w *world) entity() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entities++
	return fmt.Sprintf("CO-20260202-%06d", w.entities)
}

// examples has a call of every route. A route without one fails the tests.
func examples() map[string]example {
	list := map[string]example{}
	for _, add := range []func(map[string]example){errorExamples, viewExamples, actExamples, retryExamples, ledgerExamples, adminExamples, noticeExamples, alertExamples, gateZeroExamples, letterExamples, operationExamples} {
		add(list)
	}
	return list
}

// fixed is a call that needs nothing.
func fixed(path string, body any, other effect) example {
	return example{func(*world, string) (string, any) { return path, body }, other}
}

func errorExamples(list map[string]example) {
	list["POST /v1/errors"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/errors", recoup.Report{Table: table, EntityID: w.entity(), Code: "NETWORK_TIMEOUT"}
	}}
	list["POST /v1/errors/batch"] = example{other: leftOut, make: func(w *world, table string) (string, any) { // each item is answered for itself
		return "/v1/errors/batch", recoup.ReportBatch{Reports: []recoup.Report{{Table: table, EntityID: w.entity(), Code: "NETWORK_TIMEOUT"}}}
	}}
	list["POST /v1/errors/import"] = example{other: leftOut, make: func(w *world, table string) (string, any) { // each row is answered for itself
		return "/v1/errors/import", recoup.ErrorLines{Format: "csv", Table: table, DryRun: true, Lines: "code,created_at,entity_id\nNETWORK_TIMEOUT,2026-02-01T09:30:00Z," + w.entity() + "\n"}
	}}
	list["GET /v1/errors"] = example{make: func(_ *world, table string) (string, any) { return "/v1/errors?table=" + table, nil }}
	list["GET /v1/errors/parked"] = example{make: func(_ *world, table string) (string, any) { return "/v1/errors/parked?table=" + table, nil }}
	list["GET /v1/errors/archived"] = example{make: func(_ *world, table string) (string, any) { return "/v1/errors/archived?table=" + table, nil }}
	list["GET /v1/series"] = example{make: func(_ *world, table string) (string, any) { return "/v1/series?hours=2&table=" + table, nil }}
	list["GET /v1/errors/counts"] = fixed("/v1/errors/counts", nil, leftOut)
	for _, sub := range []string{"", "/history", "/explain", "/source"} {
		list["GET /v1/errors/{id}"+sub] = example{make: func(w *world, table string) (string, any) {
			return "/v1/errors/" + w.report(table, w.entity()).ID.String() + sub, nil
		}}
	}
	list["POST /v1/errors/{id}/source/decrypt"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/errors/" + w.report(table, w.entity()).ID.String() + "/source/decrypt", wire.DecryptSourceRequest{Reason: "the customer asked"}
	}}
	grouped := func(w *world, table string) string {
		e := w.report(table, w.entity())
		w.fold()
		return "/v1/error-groups/" + e.GroupID.String()
	}
	list["GET /v1/error-groups"] = example{make: func(_ *world, table string) (string, any) { return "/v1/error-groups?table=" + table, nil }}
	list["GET /v1/error-groups/{id}"] = example{other: unknownThere, make: func(w *world, table string) (string, any) { return grouped(w, table), nil }}
	list["POST /v1/error-groups/{id}/note"] = example{other: unknownThere, make: func(w *world, table string) (string, any) {
		return grouped(w, table) + "/note", recoup.GroupNote{Owner: "ada", Note: "known"}
	}}
	list["GET /v1/ids/{part}"] = example{other: leftOut, make: func(w *world, table string) (string, any) {
		return "/v1/ids/" + w.report(table, w.entity()).ID.String() + "?kind=errors", nil
	}}
	list["GET /v1/promotion/{entity}"] = example{other: leftOut, make: func(w *world, table string) (string, any) {
		entity := w.entity()
		w.report(table, entity)
		return "/v1/promotion/" + url.PathEscape(entity), nil
	}}
	list["POST /v1/promotions"] = example{other: leftOut, make: func(w *world, _ string) (string, any) {
		return "/v1/promotions", recoup.Promotion{EntityID: w.entity(), Phase: "outreach"}
	}}
	list["POST /v1/processed"] = example{make: func(w *world, table string) (string, any) {
		return "/v1/processed", recoup.ProcessedBatch{Counts: []recoup.Processed{{Table: table, Count: 3, Failed: 1, Minute: w.clock()}}}
	}}
}

func actExamples(list map[string]example) {
	for verb, act := range map[string]recoup.Act{
		"park": {Reason: "wait for the filing"}, "unpark": {Reason: "the filing is there"}, "resolve": {Reason: "done by hand"},
		"escalate": {Reason: "third time"}, "archive": {Reason: "not needed"}, "assign": {To: "ada"}, "review": {},
	} {
		ready := func(w *world, table string) recoup.Error {
			e := w.report(table, w.entity())
			if verb != "park" && verb != "resolve" && verb != "archive" {
				w.post("/v1/errors/"+e.ID.String()+"/park", recoup.Act{Reason: "made ready"}).ok()
			}
			return e
		}
		list["POST /v1/errors/{id}/"+verb] = example{make: func(w *world, table string) (string, any) {
			return "/v1/errors/" + ready(w, table).ID.String() + "/" + verb, act
		}}
		list["POST /v1/errors/"+verb] = example{other: leftOut, make: func(w *world, table string) (string, any) {
			e := ready(w, table)
			return "/v1/errors/" + verb, recoup.BulkAct{Act: act, IDs: []recoup.ID{e.ID}, Preview: true}
		}}
	}
}

func retryExamples(list map[string]example) {
	leased := func(w *world, table string) recoup.Error {
		w.report(table, w.entity())
		claimed := w.claim(table)
		return claimed[len(claimed)-1]
	}
	list["POST /v1/retries/claim"] = example{make: func(_ *world, table string) (string, any) {
		return "/v1/retries/claim", recoup.RetryClaim{Tables: []string{table}, Worker: "w"}
	}}
	for _, outcome := range []string{"succeed", "fail", "extend"} {
		list["POST /v1/retries/{id}/"+outcome] = example{make: func(w *world, table string) (string, any) {
			e := leased(w, table)
			body := recoup.RetryResult{LeaseToken: e.LeaseToken}
			if outcome == "fail" {
				body.Code = "NETWORK_TIMEOUT"
			}
			return "/v1/retries/" + e.ID.String() + "/" + outcome, body
		}}
	}
	list["POST /v1/retries/results"] = example{other: leftOut, make: func(w *world, table string) (string, any) { // each item is answered for itself
		e := leased(w, table)
		return "/v1/retries/results", recoup.RetryResultBatch{Results: []recoup.RetryResult{{ErrorID: e.ID, LeaseToken: e.LeaseToken, Outcome: "succeed"}}}
	}}
}

func ledgerExamples(list map[string]example) {
	list["POST /v1/events"] = example{other: leftOut, make: func(w *world, _ string) (string, any) {
		return "/v1/events", recoup.Event{Code: "NETWORK_TIMEOUT", Service: dol, TS: w.clock()}
	}}
	list["GET /v1/events"] = fixed("/v1/events?service=nightly", nil, refusedThere)
	list["GET /v1/events/export"] = fixed("/v1/events/export", nil, refusedThere)
	for _, name := range []string{"top-codes", "retryable-rate", "daily", "drops"} {
		list["GET /v1/stats/"+name] = fixed("/v1/stats/"+name, nil, refusedThere)
	}
	list["GET /v1/codes"] = fixed("/v1/codes", nil, leftOut)
	list["GET /v1/codes/{code}"] = fixed("/v1/codes/network_timeout", nil, leftOut)
	list["PUT /v1/codes/{code}"] = example{make: func(*world, string) (string, any) { return "/v1/codes/QUOTA_OF_MOON", ownCode("QUOTA_OF_MOON") }}
	list["POST /v1/classify"] = fixed("/v1/classify", map[string]any{"status": 503, "headers": map[string]string{"Retry-After": "7"}}, leftOut)
}

// ownCode is a code that nobody ships.
func ownCode(code recoup.Code) fault.Definition {
	return fault.Definition{
		Code: code, Domain: "runtime", Class: recoup.ClassFatal, Category: recoup.Operational, Severity: recoup.Medium, HTTPStatus: 422,
		Origin: "test", Description: "The moon has no quota left.", Causes: []string{"Full moon."}, Resolution: []string{"Wait for it to wane."},
	}
}

// policyText is the default policy under another version.
func policyText(version string) string {
	return strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: "+version, 1)
}

func adminExamples(list map[string]example) {
	list["GET /v1/policy"] = fixed("/v1/policy", nil, leftOut)
	list["GET /v1/policy/versions"] = fixed("/v1/policy/versions", nil, leftOut)
	list["POST /v1/policy/plan"] = fixed("/v1/policy/plan", wire.PolicyFile{Text: pipelinePolicy("1.0.2")}, refusedThere)
	list["PUT /v1/policy"] = fixed("/v1/policy", wire.PolicyChange{Text: pipelinePolicy("1.0.1"), Reason: "a try"}, refusedThere)
	list["GET /v1/keys"] = fixed("/v1/keys", nil, refusedThere)
	list["GET /v1/keys/self"] = fixed("/v1/keys/self", nil, leftOut)
	list["POST /v1/keys"] = fixed("/v1/keys", wire.NewKey{Name: "another", Role: "reader", Days: 30}, refusedThere)
	for _, verb := range []string{"revoke", "rotate"} {
		list["POST /v1/keys/{id}/"+verb] = example{make: func(w *world, _ string) (string, any) {
			var key wire.Key
			w.post("/v1/keys", wire.NewKey{Name: "short-lived", Role: "reader"}).ok(&key)
			return "/v1/keys/" + key.ID.String() + "/" + verb, map[string]any{"reason": "a try"}
		}}
	}
	list["GET /v1/payload-keys"] = fixed("/v1/payload-keys", nil, refusedThere)
	list["POST /v1/payload-keys/rotate"] = example{make: func(w *world, _ string) (string, any) {
		w.wait(time.Second) // its name is made of the time
		return "/v1/payload-keys/rotate", map[string]any{"reason": "a try"}
	}}
	list["POST /v1/payload-keys/wrap"] = fixed("/v1/payload-keys/wrap", map[string]any{"reason": "a try"}, refusedThere)
	list["GET /v1/tenant-keys"] = fixed("/v1/tenant-keys", nil, refusedThere)
	list["POST /v1/tenant-keys/rotate"] = example{make: func(w *world, _ string) (string, any) {
		w.wait(time.Second) // a key is named after its second
		return "/v1/tenant-keys/rotate", map[string]any{"reason": "a try"}
	}}
	list["POST /v1/tenant-keys/{key_id}/delete"] = example{make: func(w *world, _ string) (string, any) {
		var keys wire.TenantKeyList
		w.get("/v1/tenant-keys").ok(&keys)
		w.wait(time.Second)
		w.post("/v1/tenant-keys/rotate", map[string]any{}).ok()
		return "/v1/tenant-keys/" + keys.Keys[0].ID + "/delete", map[string]any{"reason": "a try"}
	}}
	list["GET /v1/forecast"] = fixed("/v1/forecast", nil, leftOut)
	list["GET /v1/stream"] = fixed("/v1/stream", nil, leftOut)
	list["GET /v1/workers"] = fixed("/v1/workers", nil, leftOut)
	list["GET /v1/tables"] = fixed("/v1/tables", nil, leftOut)
	list["GET /v1/adoptions"] = fixed("/v1/adoptions", nil, leftOut)
	list["GET /v1/jobs"] = fixed("/v1/jobs", nil, leftOut)
	list["GET /v1/doctor"] = fixed("/v1/doctor", nil, refusedThere)
	list["GET /v1/bus"] = fixed("/v1/bus", nil, refusedThere)
	list["GET /v1/bus/quarantine"] = fixed("/v1/bus/quarantine", nil, refusedThere)
	list["POST /v1/bus/quarantine/retry"] = fixed("/v1/bus/quarantine/retry", bus.QuarantineAct{Numbers: []int{1}, Reason: "a try"}, refusedThere)
	list["POST /v1/bus/quarantine/drop"] = fixed("/v1/bus/quarantine/drop", bus.QuarantineAct{Numbers: []int{1}, Reason: "a try"}, refusedThere)
	list["GET /v1/channels"] = fixed("/v1/channels", nil, refusedThere)
	list["GET /v1/receivers"] = fixed("/v1/receivers", nil, refusedThere)
	list["POST /v1/jobs/{name}/run"] = fixed("/v1/jobs/ttl/run", wire.JobRunRequest{Reason: "a try"}, refusedThere)
	list["GET /v1/audit"] = fixed("/v1/audit?from="+epoch.Format(time.RFC3339), nil, refusedThere)
	list["GET /healthz"] = fixed("/healthz", nil, leftOut)
	list["GET /readyz"] = fixed("/readyz", nil, leftOut)
}
