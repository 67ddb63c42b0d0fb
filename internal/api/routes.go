package api

import "net/http"

// routes is everything that the API offers: the one place where it is said what
// there is and who may call it. Admins may call all of it.
func routes() []*route {
	const get, post, put = http.MethodGet, http.MethodPost, http.MethodPut
	everyone := []Role{Ingest, Worker, Operator, Reader}
	readers := []Role{Worker, Operator, Reader}
	list := []*route{
		operation(post, "/v1/errors", "Report a failure", (*API).report).answers(http.StatusCreated).by(Ingest, Worker, Operator).repeats(keyed).in_("errors"),
		operation(post, "/v1/errors/batch", "Report many failures, each answered for itself", (*API).reportBatch).takesUpTo(batchBody).by(Ingest, Worker, Operator).repeats(keyed).in_("errors"),
		operation(get, "/v1/errors", "List open errors, newest first", (*API).listErrors).by(readers...).under(vital).in_("errors"),
		operation(get, "/v1/errors/parked", "List the park queue, longest parked first", (*API).listParked).by(readers...).under(vital).in_("errors"),
		operation(get, "/v1/errors/archived", "List the archive of a table, last archived first", (*API).listArchived).by(readers...).under(vital).in_("errors"),
		operation(get, "/v1/errors/counts", "Count errors by table and state", (*API).counts).by(readers...).under(vital).in_("errors"),
		operation(get, "/v1/errors/{id}", "Show an error", (*API).showError).by(readers...).under(vital).in_("errors"),
		operation(get, "/v1/errors/{id}/history", "Show what happened to an error", (*API).history).by(readers...).under(vital).in_("errors"),
		operation(get, "/v1/errors/{id}/explain", "Explain which rules decided and what happens next", (*API).explain).by(readers...).under(vital).in_("errors"),

		operation(post, "/v1/retries/claim", "Lease errors that are due, and wait for some", (*API).claim).by(Worker).under(waiting).repeats(twice).in_("retries"),
		operation(post, "/v1/retries/results", "Tell the results of many attempts, each answered for itself", (*API).results).takesUpTo(batchBody).by(Worker).repeats(keyed).in_("retries"),
		operation(post, "/v1/retries/{id}/succeed", "The retry worked", (*API).succeed).by(Worker).repeats(keyed).in_("retries"),
		operation(post, "/v1/retries/{id}/fail", "The retry failed", (*API).fail).by(Worker).repeats(keyed).in_("retries"),
		operation(post, "/v1/retries/{id}/extend", "Prolong a lease", (*API).extend).by(Worker).repeats(keyed).in_("retries"),

		operation(get, "/v1/promotion/{entity}", "See whether an entity may go on, and if not, why, whose turn it is and until when", (*API).gate).by(readers...).under(vital).in_("promotion"),
		operation(post, "/v1/promotions", "Check the gate and record a promotion, in one transaction", (*API).promote).answers(http.StatusCreated).by(Worker, Operator).under(vital).repeats(keyed).in_("promotion"),
		operation(post, "/v1/processed", "Count work that was done, for error rates", (*API).processed).takesUpTo(1<<20).answers(http.StatusAccepted).by(Ingest, Worker, Operator).repeats(twice).in_("promotion"),

		sendEvents().by(Ingest, Worker, Operator).in_("ledger"),
		operation(get, "/v1/events", "List events, newest first", (*API).listEvents).by(Operator, Reader).forAllHubs().under(vital).in_("ledger"),
		operation(get, "/v1/events/export", "Export counts by day, service and code; with rows=true the events themselves", (*API).exportEvents).by(Operator, Reader).forAllHubs().under(vital).in_("ledger"),
		operation(get, "/v1/stats/top-codes", "The codes with the most events", (*API).topCodes).by(Operator, Reader).under(vital).in_("ledger"),
		operation(get, "/v1/stats/retryable-rate", "The share of retryable failures, by service", (*API).retryableRate).by(Operator, Reader).under(vital).in_("ledger"),
		operation(get, "/v1/stats/daily", "Counts by day, service and code", (*API).daily).by(Operator, Reader).under(vital).in_("ledger"),
		operation(get, "/v1/stats/drops", "What was left out of the ledger, by day and reason", (*API).drops).by(Operator, Reader).under(vital).in_("ledger"),

		operation(get, "/v1/codes", "List the registry", (*API).listCodes).by(everyone...).in_("registry"),
		operation(get, "/v1/codes/{code}", "Show a code", (*API).showCode).by(everyone...).in_("registry"),
		operation(put, "/v1/codes/{code}", "Register a code, or change one of your own", (*API).putCode).forAdmins().forAllHubs().in_("registry"),
		operation(post, "/v1/classify", "Classify a failure", (*API).classify).by(everyone...).in_("registry"),

		operation(get, "/v1/policy", "Show the policy", (*API).showPolicy).by(everyone...).in_("policy"),
		operation(get, "/v1/policy/versions", "List the policies that were in force", (*API).policyVersions).by(readers...).in_("policy"),
		operation(post, "/v1/policy/plan", "Say what a policy would change of the open errors", (*API).planPolicy).takesUpTo(1 << 20).by(Operator).forAllHubs().takesLong().in_("policy"),
		operation(put, "/v1/policy", "Put a policy in force", (*API).putPolicy).takesUpTo(1 << 20).forAdmins().forAllHubs().takesLong().in_("policy"),

		operation(get, "/v1/keys", "List keys", (*API).listKeys).forAdmins().forAllHubs().in_("keys"),
		operation(post, "/v1/keys", "Make a key; the answer is the only place where it is shown", (*API).createKey).answers(http.StatusCreated).forAdmins().forAllHubs().repeats(twice).in_("keys"),
		operation(post, "/v1/keys/{id}/revoke", "Revoke a key", (*API).revokeKey).forAdmins().forAllHubs().in_("keys"),
		operation(post, "/v1/keys/{id}/rotate", "Replace a key; the old one works a while longer", (*API).rotateKey).answers(http.StatusCreated).forAdmins().forAllHubs().repeats(twice).in_("keys"),
		operation(get, "/v1/audit", "List administrative acts, newest first", (*API).audit).by(Operator).forAllHubs().under(vital).in_("operations"),

		operation(get, "/healthz", "Whether the process runs", (*API).healthy).in_("operations").under(always),
		operation(get, "/readyz", "Whether the node can serve", (*API).ready).in_("operations").under(always),
	}
	return append(list, acts()...)
}
