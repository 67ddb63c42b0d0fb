package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// TestMatrix calls every route with every role, with keys for the right and for the
// wrong hub, and with what is no key. It walks the router's own table, and a route
// without an example fails it, so that a new one cannot be forgotten.
func TestMatrix(t *testing.T) {
	t.Parallel()
	all := examples()
	const worlds = 4
	for i := range worlds {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).withPipelines()
			for k, rt := range routeInfos() {
				if k%worlds != i {
					continue
				}
				example, ok := all[rt.Name()]
				if !ok {
					t.Errorf("%s has no example: add one, and it is tested", rt.Name())
					continue
				}
				t.Log(rt.Name())
				w.strangers(rt, example)
				w.roles(rt, example)
				w.hubs(rt, example)
			}
		})
	}
}

// TestMatrixOnPostgreSQL is the same for the roles that may, on the other store, and
// for the hubs where the store itself keeps lists within them.
func TestMatrixOnPostgreSQL(t *testing.T) {
	t.Parallel()
	w := newPostgresWorld(t).withPipelines()
	staged := map[string]example{}
	letterExamples(staged)
	for _, rt := range routeInfos() {
		example := examples()[rt.Name()]
		if _, ok := staged[rt.Name()]; ok {
			w.hubs(rt, example)
		}
		path, body := example.make(w, dol)
		if rt.Open {
			w.do("", rt.Method, path, body).ok()
			continue
		}
		w.do("", rt.Method, path, body).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
		if got := w.do("admin", rt.Method, path, body); got.Code != rt.Status {
			t.Errorf("%s answers %d %s", rt.Name(), got.Code, got.Body)
		}
	}
}

// strangers are those whose key opens nothing.
func (w *world) strangers(rt api.RouteInfo, x example) {
	w.Helper()
	path, body := x.make(w, dol)
	if rt.Open {
		w.do("", rt.Method, path, body).ok()
		return
	}
	before := w.trace()
	for name, headers := range map[string][]string{
		"none":               nil,
		"malformed":          {"Authorization", "Bearer rdb_short"},
		"not of the form":    {"Authorization", "Bearer " + strings.Repeat("k", 36)},
		"unknown":            {"Authorization", "Bearer rdb_" + strings.Repeat("a", 32)},
		"another scheme":     {"Authorization", "Basic " + w.keys["admin"]},
		"no scheme":          {"Authorization", w.keys["admin"]},
		"empty":              {"Authorization", ""},
		"revoked":            {"Authorization", "Bearer " + w.keys[revoked]},
		"in upper case":      {"Authorization", "Bearer " + strings.ToUpper(w.keys["admin"])},
		"one of two":         {"Authorization", "Bearer " + w.keys["admin"], "X-API-Key", w.keys["reader"]},
		"followed by others": {"Authorization", "Bearer " + w.keys["admin"] + " " + w.keys["admin"]},
	} {
		e := w.do("", rt.Method, path, body, headers...).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
		if e.Details["key_format"] == nil || e.Details["expiration_policy"] == nil {
			w.Errorf("%s: details are %v", name, e.Details)
		}
	}
	e := w.do(expired, rt.Method, path, body).failed(http.StatusUnauthorized, fault.CodeAPIKeyExpired)
	if e.Details["expired_at"] != "2026-02-02T09:00:01Z" || e.Details["renewal_url"] == nil {
		w.Errorf("details are %v", e.Details)
	}
	for _, role := range httpapi.Roles() {
		if rt.Permits(role) {
			continue
		}
		e := w.do(string(role), rt.Method, path, body).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
		if roles, _ := e.Details["required_roles"].([]any); e.Details["role"] != string(role) || len(roles) == 0 {
			w.Errorf("details are %v", e.Details)
		}
	}
	if after := w.trace(); after != before {
		w.Errorf("somebody without permission changed something:\n%s\n%s", before, after)
	}
}

// trace is what every act leaves behind: the audit, and the newest errors.
func (w *world) trace() string {
	return w.get("/v1/audit?limit=3").Body.String() + w.get("/v1/errors?limit=3").Body.String()
}

// roles are those who may.
func (w *world) roles(rt api.RouteInfo, x example) {
	w.Helper()
	for _, role := range httpapi.Roles() {
		if rt.Open || !rt.Permits(role) {
			continue
		}
		path, body := x.make(w, dol)
		if got := w.do(string(role), rt.Method, path, body); got.Code != rt.Status {
			w.Errorf("%s answers a key of the role %s with %d %s", rt.Name(), role, got.Code, got.Body)
		}
	}
}

// hubs are keys for one hub: they reach what is theirs and nothing else.
func (w *world) hubs(rt api.RouteInfo, x example) {
	w.Helper()
	for _, role := range httpapi.Roles() {
		if rt.Open || !rt.Permits(role) {
			continue
		}
		key := string(role) + onlyDOL
		path, body := x.make(w, dol)
		switch got := w.do(key, rt.Method, path, body); {
		case rt.Global:
			e := got.failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
			if hubs, _ := e.Details["hubs"].([]any); len(hubs) != 1 || hubs[0] != dolHub {
				w.Errorf("details are %v", e.Details)
			}
		case got.Code != rt.Status:
			w.Errorf("%s answers a key for the hub with %d %s", rt.Name(), got.Code, got.Body)
		}
		path, body = x.make(w, people)
		before := w.trace()
		switch got := w.do(key, rt.Method, path, body); {
		case x.other == refusedThere:
			got.failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
		case x.other == unknownThere:
			got.failed(http.StatusNotFound, fault.CodeNotFound)
		case x.other == lostThere:
			got.failed(http.StatusConflict, fault.CodeLeaseLost)
		case got.Code != rt.Status:
			w.Errorf("%s answers a key for another hub with %d %s", rt.Name(), got.Code, got.Body)
		}
		if after := w.trace(); x.other != leftOut && after != before {
			w.Errorf("%s with a key for another hub changed something", rt.Name())
		}
	}
}

// What is answered to a key for one hub leaves out what belongs to others.
func TestOneHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const entity = "CO-1"
	mine, theirs := w.report(dol, entity), w.report(people, entity)
	key := "operator" + onlyDOL

	var counts recoup.StateCounts
	w.do(key, http.MethodGet, "/v1/errors/counts", nil).ok(&counts)
	if len(counts.Counts) != 1 || counts.Counts[0].Table != dol {
		t.Errorf("counts are %+v", counts)
	}
	var page recoup.ErrorPage
	w.do(key, http.MethodGet, "/v1/errors", nil).ok(&page)
	if len(page.Errors) != 1 || page.Errors[0].ID != mine.ID {
		t.Errorf("the list is %+v", page)
	}
	w.do(key, http.MethodGet, "/v1/errors?hub="+peopleHub, nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)

	var batch recoup.ReportedBatch
	w.do(key, http.MethodPost, "/v1/errors/batch", recoup.ReportBatch{Reports: []recoup.Report{
		{Table: people, EntityID: "CO-2", Code: "TIMEOUT"}, {Table: dol, EntityID: "CO-2", Code: "TIMEOUT"},
	}}).ok(&batch)
	if batch.Items[0].Result != nil || !strings.Contains(string(batch.Items[0].Failure), "INSUFFICIENT_PERMISSIONS") || batch.Items[1].Result == nil {
		t.Errorf("the batch is %+v", batch)
	}

	var bulk recoup.BulkResult
	w.do(key, http.MethodPost, "/v1/errors/park", recoup.BulkAct{Act: recoup.Act{Reason: "wait"}, IDs: []recoup.ID{theirs.ID, mine.ID}}).ok(&bulk)
	if bulk.Applied != 1 || len(bulk.Refused) != 1 || bulk.Refused[0].ID != theirs.ID {
		t.Errorf("bulk by ids: %+v", bulk)
	}
	var frozen recoup.FrozenOperation
	w.do(key, http.MethodPost, "/v1/operations", recoup.NewOperation{Act: recoup.ActPark, All: true}).ok(&frozen)
	if frozen.Members != 2 {
		t.Errorf("an operation on all has %d members, want the two of the hub", frozen.Members)
	}

	w.wait(1)
	var claimed recoup.RetryClaimed
	w.do("worker"+onlyDOL, http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w", Limit: 100}).ok(&claimed)
	for _, e := range claimed.Errors {
		if e.Table != dol {
			t.Errorf("claimed one of %s", e.Table)
		}
	}

	var gate recoup.PromotionStatus
	w.do(key, http.MethodGet, "/v1/promotion/"+entity, nil).ok(&gate)
	if !gate.Blocked || len(gate.Blockers) != 2 {
		t.Fatalf("the gate is %+v", gate)
	}
	for _, b := range gate.Blockers {
		if known := !b.ErrorID.IsZero() && b.Code != "" && b.State != ""; known != (b.Table == dol) || b.Owner == "" || b.EndsAt.IsZero() {
			t.Errorf("the blocker is %+v", b)
		}
	}
	e := w.do(key, http.MethodPost, "/v1/promotions", recoup.Promotion{EntityID: entity, Phase: "outreach"}).failed(http.StatusConflict, fault.CodePromotionBlocked)
	if strings.Contains(string(mustJSON(e.Details)), theirs.ID.String()) {
		t.Errorf("a promotion names an error of another hub: %v", e.Details)
	}
}
