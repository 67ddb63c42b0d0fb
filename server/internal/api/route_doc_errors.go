package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

var notFound = []recoup.Code{fault.CodeNotFound}

func errorManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"POST /v1/errors": {
			About: "Records that work on an entity failed. The code decides the class, and the policy what happens next: retry, park or ignore. A repeat of a failure that is still open does not make a second error: it continues the one there is, or replaces it, and `superseded` says which. Report a failed retry with its `lease_token`, or submit it as a result.",
			Body: `{"table": "outreach.dol_errors", "entity_id": "CO-20260205-000001", "code": "NETWORK_TIMEOUT",
				"message": "the register did not answer within 30 s", "service": "dol-sync", "http_status": 504}`,
			Fails: []recoup.Code{fault.CodeConflict, fault.CodeInvalidTransition, fault.CodeLeaseLost, fault.CodeQuotaExceeded},
		},
		"POST /v1/errors/import": {
			About: "Up to 10000 failures that happened elsewhere and earlier, as lines of a file. Each is judged by the policy as of its `created_at`: TTL, retry window and escalation run from then, what has expired by now goes straight to the archive, and nobody is notified of what has happened meanwhile. Rows that cannot be taken are named with their line, and the others are recorded. The same again records nothing twice: a row is recognised by its `key`, else by its content.",
			Body: `{"format": "csv", "table": "outreach.dol_errors", "columns": {"entity_id": "company"},
				"lines": "company,code,created_at,message\nCO-20260205-000001,NETWORK_TIMEOUT,2026-02-05T09:30:00Z,no answer\n"}`,
		},
		"POST /v1/errors/batch": {
			About: "Up to 1000 reports in one call. `items` has an answer for each, in the order of the reports: its `result`, or its `failure` in the shape of any error. If no report can be read at all, the call itself is refused.",
			Body: `{"reports": [
				{"table": "outreach.dol_errors", "entity_id": "CO-20260205-000001", "code": "NETWORK_TIMEOUT"},
				{"table": "people.people_errors", "entity_id": "CO-20260205-000002", "code": "MISSING_NAME"}]}`,
		},
		"GET /v1/errors": {
			About:  "Errors that are not archived. All filters that are set must match. `q` finds what groups of errors have in common in their messages, within seconds after a kind of failure was first reported: of the 2000 groups with the most open errors, those of 50; `truncated` says that there may be more.",
			Params: map[string]string{"table": "outreach.dol_errors", "state": "PARKED", "limit": "20"},
		},
		"GET /v1/errors/parked": {
			About:  "Errors that wait for a person, in states PARKED and ESCALATED, with their owner and when a review is due.",
			Params: map[string]string{"table": "outreach.dol_errors"},
		},
		"GET /v1/errors/archived": {
			About:  "Errors that have ended. The archive keeps them as they were, with how they ended, until `purge_at`.",
			Params: map[string]string{"table": "outreach.dol_errors", "limit": "20"},
		},
		"GET /v1/errors/counts": {About: "How many errors each table has in each state, for the tables that the key may see. A table and state without errors is left out."},
		"GET /v1/errors/{id}":   {About: "One error with its retries, lease, parking, escalation and end. An archived error is found as well.", Fails: notFound},
		"GET /v1/error-groups": {
			About:  "Errors of one table and code whose messages differ in numbers, ids and quoted text only are one group: one cause, usually, however many it hit. Counts are some seconds old at most. Act on a group with its id as the filter `group` of a bulk act.",
			Params: map[string]string{"table": "outreach.dol_errors", "sort": "open", "limit": "20"},
		},
		"GET /v1/error-groups/{id}":       {About: "A group with how many of its errors are in each state, and how many were reported in each of the last 24 hours.", Fails: notFound},
		"POST /v1/error-groups/{id}/note": {About: "Sets who takes care of a group, and what is known of it. What was there before stays in the audit.", Body: `{"owner": "ada", "note": "the register is down until noon"}`, Fails: notFound},
		"GET /v1/views":                   {About: "Lists of errors that people come back to: your own views, and those that are shared within your hubs. The console shows them on its page of errors."},
		"POST /v1/views":                  {About: "Saves a filter under a name, as tokens such as `state:PARKED` or `older:2d`: yours alone, or shared within a hub, whose operators may change and delete it. Ages count from when the view is looked at. An owner and a hub have 100 views at most, each under a name of its own.", Body: `{"name": "parked too long", "tokens": ["parked:yes", "older:2d"], "hub": "dol-filings"}`},
		"PUT /v1/views/{id}":              {About: "Saves a view under another name, with another filter, or for others; without `hub` it becomes yours alone.", Body: `{"name": "parked for days", "tokens": ["parked:yes", "older:3d"]}`, Fails: notFound},
		"DELETE /v1/views/{id}":           {About: "Deletes a view, and answers with what it was. The errors that it lists are left alone.", Fails: notFound},
		"GET /v1/errors/{id}/history": {
			About: "Every transition, oldest first: who did what and why, and what it changed. A row is written with the change itself, and never again.",
			Fails: notFound,
		},
		"GET /v1/errors/{id}/source": {
			About: "The columns of its row of an adopted table that the policy has kept with the error, as they were when it was reported, with secrets replaced; and whether more is encrypted. In the archive too.",
			Fails: notFound,
		},
		"POST /v1/errors/{id}/source/decrypt": {
			About: "Decrypts the columns that the policy has encrypted, and the row itself if it has moved into the archive. Who looked and why is in the audit.",
			Body:  `{"reason": "the customer asked what was sent"}`, Fails: notFound,
		},
		"GET /v1/errors/{id}/explain": {
			About: "Says of one error which lines of the policy decided, what happens by itself and when, and what a person can do now.",
			Fails: notFound,
		},
	}
}

// actTexts describe the acts: the summary of an act on one error, what it does, and an
// example of a body.
var actTexts = map[recoup.ActName]struct{ summary, about, body string }{
	recoup.ActPark:     {"Park an error for a person to decide", "Takes an error out of automatic retry until a person acts on it. Its owner is notified.", `"reason": "AWAITING_EXTERNAL"`},
	recoup.ActUnpark:   {"Send a parked error back to be retried", "Returns a parked error to automatic retry, with fresh attempts.", `"reason": "the filing has arrived"`},
	recoup.ActResolve:  {"End an error by hand", "Ends an error by hand: it no longer blocks its entity.", `"reason": "corrected in the source"`},
	recoup.ActEscalate: {"Move a parked error up the ladder", "Moves a parked error to the next tier, or to `tier`, whose owner is notified. It never moves down.", `"reason": "third time this week"`},
	recoup.ActArchive:  {"Move an error to the archive before its time", "Moves an error to the archive before its time. It no longer blocks its entity, and is not retried.", `"reason": "the company no longer exists"`},
	recoup.ActAssign:   {"Give a parked error to someone", "Gives a parked error to a person or a team, who becomes its owner.", `"to": "ada"`},
	recoup.ActReview:   {"Record that a person has looked at a parked error", "Records that a person has looked at a parked error: the deadline for a review starts again.", `"reason": "still waiting for the register"`},
}

func actManuals() map[string]httpapi.Doc {
	list := map[string]httpapi.Doc{}
	for name, text := range actTexts {
		list["POST /v1/errors/{id}/"+string(name)] = httpapi.Doc{
			About: text.about, Body: "{" + text.body + "}",
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeConflict},
		}
		list["POST /v1/errors/"+string(name)] = httpapi.Doc{
			About: text.about + "\n\nFor many errors at once: name them with `ids`. With `preview` the answer says which the act does not apply to; its `token`, sent instead of the ids, stands for the same errors as they were, and what changed meanwhile is refused by itself. To act on all errors that a filter selects, use `POST /v1/operations`.",
			Body:  "{" + text.body + `, "ids": ["0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"]}`,
			Fails: []recoup.Code{fault.CodeStaleRead},
		}
	}
	return list
}

func retryManuals() map[string]httpapi.Doc {
	result := []recoup.Code{fault.CodeNotFound, fault.CodeLeaseLost, fault.CodeInvalidTransition}
	const lease = `"lease_token": "0198f2a5-11d0-7c22-8a4b-3e9d6f7a1c05"`
	return map[string]httpapi.Doc{
		"POST /v1/retries/claim": {
			About: "Leases errors whose retry is due, the longest due first. With `wait_seconds` the call waits until something is due, so that a worker needs no polling interval. Each error carries the `lease_token` that its result must name.",
			Body:  `{"tables": ["outreach.dol_errors"], "worker": "dol-sync-1", "limit": 10}`,
		},
		"POST /v1/retries/results": {
			About: "Up to 1000 results in one call, each with its error, its lease and its outcome. `items` answers each in its place.",
			Body:  `{"results": [{"error_id": "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67", ` + lease + `, "outcome": "succeed"}]}`,
		},
		"POST /v1/retries/{id}/succeed": {
			About: "Ends the error as resolved. A lease that expired still counts, unless somebody else has claimed the error since.",
			Body:  `{` + lease + `}`, Fails: result,
		},
		"POST /v1/retries/{id}/fail": {
			About: "Counts the attempt. The policy decides by the code: the next retry, after `retry_after` at the earliest, or parked for a person if there were enough.",
			Body:  `{` + lease + `, "code": "NETWORK_TIMEOUT", "retry_after": 60}`, Fails: result,
		},
		"POST /v1/retries/{id}/extend": {
			About: "Keeps a lease alive while the work takes longer. It ends `lease_seconds` from now.",
			Body:  `{` + lease + `, "lease_seconds": 300}`, Fails: result,
		},
	}
}

func promotionManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/promotion/{entity}": {
			About: "The gate of an entity: open, or blocked by which errors, who has to act on each, and when each would end by itself. Blockers in a hub that the key is not for are counted as well, without their codes. With `unknown=true` an open gate says whether anybody has ever named the entity: a misspelt one is open, too.",
		},
		"POST /v1/promotions": {
			About: "Asks the gate and records the promotion in one transaction, so that no error can come between. A blocked entity is refused with `PROMOTION_BLOCKED`, whose details say by what. A repeat with the same `Idempotency-Key` returns the first promotion; without one, each call records another.",
			Body:  `{"entity_id": "CO-20260205-000042", "phase": "outreach"}`,
			Fails: []recoup.Code{fault.CodePromotionBlocked},
		},
		"POST /v1/processed": {
			About: "Counts work by minute, so that failures can be seen as a rate. Send sums, not single requests: `count` includes what `failed`.",
			Body:  `{"counts": [{"table": "outreach.dol_errors", "service": "dol-sync", "count": 120, "failed": 3, "duration_ms": 54000}]}`,
			Fails: []recoup.Code{fault.CodeQuotaExceeded},
		},
	}
}
