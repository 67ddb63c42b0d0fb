package web

import (
	_ "embed"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// answersJSON are answers that a node gave, by the name of the route. A test of package api
// makes them anew.
//
//go:embed answers.json
var answersJSON []byte

// Routes are the routes with their documentation. A *gatezero.Service serves them.
func Routes() httpapi.Set {
	return httpapi.Set{
		Areas: []httpapi.Area{
			{Name: "Gate Zero", Description: "Company candidates before they enter: imported in batches, verified, retried within a window, and stopped by a kill switch."},
		},
		Routes: httpapi.Documented(routes(), docs()), Answers: answersJSON,
	}
}

// docs document the routes.
func docs() map[string]httpapi.Doc {
	notFound := []recoup.Code{fault.CodeNotFound}
	batch := map[string]string{"batch_id": "2026-02-05-west"}
	return map[string]httpapi.Doc{
		"GET /v1/gate-zero/status":             {About: "Totals: batches, intakes by status, and recoveries by status and reason."},
		"GET /v1/gate-zero/batches":            {About: "Batches with how many of their intakes and recoveries are in which status."},
		"POST /v1/gate-zero/batches":           {About: "Makes a batch under a name of your own. A batch of that name that exists is returned as it is.", Body: `{"batch_id": "2026-02-05-west"}`},
		"GET /v1/gate-zero/batches/{batch_id}": {About: "A batch with its counts and what was done to it as a whole: killed, released, frozen.", Params: batch, Fails: notFound},
		"POST /v1/gate-zero/batches/{batch_id}/complete": {
			About: "Says that the import is done. The recovery window begins: when it ends, nothing of the batch is retried any more. Completing it again changes nothing.", Params: batch,
			Body: `{"reason": "all files are in"}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBatchKilled},
		},
		"GET /v1/gate-zero/intakes": {About: "Candidates with their status. All filters that are set must match.", Params: map[string]string{"status": "FAILED", "limit": "20"}},
		"POST /v1/gate-zero/intakes": {
			About: "Takes in one company. With an `intake_id` of your own it may be sent again; without one, each call adds another.",
			Body:  `{"company_name": "Example Widgets", "domain": "example.com", "state": "CA"}`,
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeConflict, fault.CodeBatchKilled},
		},
		"POST /v1/gate-zero/intakes/import": {
			About: "Up to 10000 companies in one call: JSON, NDJSON, or CSV with a header. Rows that cannot be taken are named with their line, and the others are imported. With an `import_key` a row that was imported before is recognised.",
			Body:  `{"intakes": [{"import_key": "row-1", "company_name": "Example Widgets", "domain": "example.com", "state": "CA"}]}`,
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBatchKilled},
		},
		"GET /v1/gate-zero/intakes/{id}":    {About: "A candidate, its recovery if it has one, and every event from its first result to its end.", Fails: notFound},
		"GET /v1/gate-zero/recoveries":      {About: "Recoveries that may be retried now, the longest waiting first, or those that are exhausted.", Params: map[string]string{"list": "EXHAUSTED"}},
		"GET /v1/gate-zero/recoveries/{id}": {About: "The recovery of one failed candidate: its reason, its attempts and when it is eligible again.", Fails: notFound},
		"POST /v1/gate-zero/claim": {
			About: "Leases verifications: first those whose retry is eligible, then candidates that nobody has verified yet.",
			Body:  `{"worker": "verifier-1", "limit": 10}`,
		},
		"POST /v1/gate-zero/results": {
			About: "Up to 1000 results in one call. A first verification names its intake; a retry names its recovery and the `lease_token`. `items` answers each in its place.",
			Body:  `{"results": [{"intake_id": "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67", "verdict": "FAIL", "reason": "DOMAIN_NOT_FOUND"}]}`,
		},
		"GET /cl/gate-zero/kill-switch": {About: "Whether a batch is stopped, since when, by whom and why.", Params: batch, Fails: notFound},
		"POST /cl/gate-zero/kill-switch": {
			About: "Stops a batch at once: nothing of it can be claimed, and leases that are out are revoked without counting an attempt.", Params: batch, Body: `{"reason": "a bad file"}`, Fails: notFound,
		},
		"DELETE /cl/gate-zero/kill-switch": {About: "Lets a batch that was stopped go on. Its recovery window was not prolonged meanwhile.", Params: batch, Body: `{"reason": "the file is corrected"}`, Fails: notFound},
	}
}
