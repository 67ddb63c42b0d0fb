package api

import (
	"net/http"
	"slices"
)

// sets is everything that the API offers, in the order of its documents: routes of the core,
// those of slices, and the rest of the core. Admins may call all of it.
func sets(more []set) []set {
	first := slices.Concat(workRoutes(), errorGroupRoutes(), viewRoutes(), ledgerRoutes(), adminRoutes(), alertRoutes(), noticeRoutes(), receiverRoutes())
	last := slices.Concat(letterRoutes(), idRoutes(), acts(), operationRoutes())
	documented(slices.Concat(first, last), manuals())
	all := []set{{Areas: areas(), Routes: first, Answers: answersJSON}, gateZeroSet()}
	return append(append(all, more...), set{Areas: lastAreas(), Routes: last})
}

// gateZeroSet are the routes of Gate Zero.
func gateZeroSet() set {
	return set{Areas: gateZeroAreas(), Routes: documented(gateZeroRoutes(), gateZeroManuals())}
}

// routes lists the routes of this package.
func routes() []*route {
	var list []*route
	for _, s := range sets(nil) {
		list = append(list, s.Routes...)
	}
	return list
}

const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete

// readers are the roles that see errors.
func readers() []Role { return []Role{Worker, Operator, Reader} }

// everyone may know what the rules are.
func everyone() []Role { return Roles() }

// workRoutes are about errors, their retries and the gate.
func workRoutes() []*route {
	return []*route{
		checked(operation(post, "/v1/errors", "Report a failure", (*API).report), inOneTurn((*API).checkReport)).answers(http.StatusCreated).by(Ingest, Worker, Operator).repeats(keyed).tagged("errors"),
		reportMany().takesUpTo(batchBody).by(Ingest, Worker, Operator).repeats(keyed).tagged("errors"),
		checked(operation(post, "/v1/errors/import", "Import failures of earlier times: CSV or NDJSON; rows succeed or fail independently", (*API).importErrors), (*API).checkImport).takesUpTo(importBody).takesLong().by(Operator).tagged("errors"),
		checked(operation(get, "/v1/errors", "List open errors, newest first", (*API).listErrors), (*API).checkFilter).by(readers()...).under(priority).tagged("errors"),
		operation(get, "/v1/errors/parked", "List the park queue, longest parked first", (*API).listParked).by(readers()...).under(priority).tagged("errors"),
		operation(get, "/v1/errors/archived", "List the archive of a table, last archived first", (*API).listArchived).by(readers()...).under(priority).tagged("errors"),
		operation(get, "/v1/workers", "Whether workers claim what is due, by table and lane", (*API).workers).by(readers()...).under(priority).tagged("operations"),
		operation(get, "/v1/errors/counts", "Count errors by table and state", (*API).counts).by(readers()...).under(priority).tagged("errors"),
		checked(operation(get, "/v1/series", "Count what happened to errors, hour by hour", (*API).series), (*API).checkSeries).by(readers()...).under(priority).tagged("operations"),
		operation(get, "/v1/forecast", "Forecast when queues are empty and which deadlines are missed", (*API).forecast).by(readers()...).under(priority).tagged("operations"),
		streams(operation(get, "/v1/stream", "Follow what changes, as server-sent events", (*API).showStream), (*API).stream).by(readers()...).under(priority).tagged("operations"),
		operation(get, "/v1/errors/{id}", "Show an error", (*API).showError).by(readers()...).under(priority).readsLittle().tagged("errors"),
		operation(get, "/v1/errors/{id}/history", "Show what happened to an error", (*API).history).by(readers()...).under(priority).tagged("errors"),
		operation(get, "/v1/errors/{id}/source", "Show what an error keeps of its row of an adopted table", (*API).showSource).by(readers()...).under(priority).tagged("errors"),
		checked(operation(post, "/v1/errors/{id}/source/decrypt", "Decrypt what an error keeps of its row; audited", (*API).decryptSource), neededReason(func(in *sourceLookIn) string { return in.Body.Reason })).forAdmins().under(priority).repeats(notIdempotent).tagged("errors"),
		operation(get, "/v1/errors/{id}/explain", "Explain which rules decided and what happens next", (*API).explain).by(readers()...).under(priority).tagged("errors"),

		checked(operation(post, "/v1/retries/claim", "Claim errors that are due, or wait until some are", (*API).claim), (*API).checkClaim).by(Worker).under(waiting).repeats(notIdempotent).tagged("retries"),
		checked(operation(post, "/v1/retries/results", "Submit results of retries in bulk; items succeed or fail independently", (*API).results), (*API).checkResults).takesUpTo(batchBody).by(Worker).repeats(keyed).tagged("retries"),
		checked(operation(post, "/v1/retries/{id}/succeed", "Report a retry that succeeded", (*API).succeed), inOneTurn(checkResult("succeed"))).by(Worker).repeats(keyed).tagged("retries"),
		checked(operation(post, "/v1/retries/{id}/fail", "Report a retry that failed", (*API).fail), inOneTurn(checkResult("fail"))).demands("code").by(Worker).repeats(keyed).tagged("retries"),
		checked(operation(post, "/v1/retries/{id}/extend", "Extend a lease", (*API).extend), inOneTurn(checkResult("extend"))).by(Worker).repeats(keyed).tagged("retries"),

		operation(get, "/v1/promotion/{entity}", "Ask whether an entity may go on", (*API).gate).by(readers()...).under(priority).endsByItself().tagged("promotion"),
		checked(operation(post, "/v1/promotions", "Check the gate and record a promotion, in one transaction", (*API).promote), (*API).checkPromotion).answers(http.StatusCreated).by(Worker, Operator).under(priority).repeats(keyed).tagged("promotion"),
		checked(operation(post, "/v1/processed", "Count work that was done, for error rates", (*API).processed), (*API).checkCounts).takesUpTo(1<<20).answers(http.StatusAccepted).by(Ingest, Worker, Operator).repeats(notIdempotent).tagged("promotion"),
	}
}

// ledgerRoutes are about events, and the codes that they have.
func ledgerRoutes() []*route {
	return []*route{
		sendEvents().by(Ingest, Worker, Operator).tagged("events"),
		operation(get, "/v1/events", "List events, newest first", (*API).listEvents).by(Operator, Reader).forAllHubs().under(priority).tagged("events"),
		operation(get, "/v1/events/export", "Export counts by day, service and code; with rows=true the events themselves", (*API).exportEvents).by(Operator, Reader).forAllHubs().under(priority).tagged("events"),
		operation(get, "/v1/stats/top-codes", "List the most frequent codes", (*API).topCodes).by(Operator, Reader).forAllHubs().under(priority).tagged("events"),
		operation(get, "/v1/stats/retryable-rate", "Show the share of retryable failures, by service", (*API).retryableRate).by(Operator, Reader).forAllHubs().under(priority).tagged("events"),
		operation(get, "/v1/stats/daily", "Count events by day, service and code", (*API).daily).by(Operator, Reader).forAllHubs().under(priority).tagged("events"),
		operation(get, "/v1/stats/drops", "Count what was left out of the ledger, by day and reason", (*API).drops).by(Operator, Reader).forAllHubs().under(priority).tagged("events"),

		operation(get, "/v1/codes", "List codes", (*API).listCodes).by(everyone()...).readsLittle().tagged("codes"),
		operation(get, "/v1/codes/{code}", "Show a code", (*API).showCode).by(everyone()...).readsLittle().tagged("codes"),
		checked(operation(put, "/v1/codes/{code}", "Register a code, or change one of your own", (*API).putCode), (*API).checkCode).forAdmins().forAllHubs().tagged("codes"),
		checked(operation(post, "/v1/classify", "Classify a failure", (*API).classify), inOneTurn((*API).checkClassify)).changesNothing().by(everyone()...).tagged("codes"),
	}
}

// adminRoutes are about the rules, who may do what, and the node itself.
func adminRoutes() []*route {
	return []*route{
		operation(get, "/v1/policy", "Show the policy", (*API).showPolicy).by(everyone()...).readsLittle().tagged("policy"),
		operation(get, "/v1/tables", "List the error tables, and what has their names in the database", (*API).tables).by(readers()...).under(priority).tagged("policy"),
		operation(get, "/v1/policy/versions", "List the policies that were in force", (*API).policyVersions).by(readers()...).tagged("policy"),
		checked(operation(post, "/v1/policy/plan", "Preview what a policy would change", (*API).planPolicy), (*API).checkPlan).changesNothing().takesUpTo(1 << 20).by(Operator).forAllHubs().takesLong().readsMuch().tagged("policy"),
		checked(operation(put, "/v1/policy", "Put a policy in force", (*API).putPolicy), (*API).checkPolicy).takesUpTo(1 << 20).forAdmins().forAllHubs().takesLong().tagged("policy"),

		operation(get, "/v1/keys", "List keys", (*API).listKeys).forAdmins().forAllHubs().tagged("keys"),
		operation(get, "/v1/keys/self", "Show the key that calls", (*API).showSelf).by(everyone()...).under(priority).readsLittle().tagged("keys"),
		checked(operation(post, "/v1/keys", "Create a key", (*API).createKey), (*API).checkKey).answers(http.StatusCreated).forAdmins().forAllHubs().repeats(notIdempotent).tagged("keys"),
		checked(operation(post, "/v1/keys/{id}/revoke", "Revoke a key", (*API).revokeKey), reasonOf(func(in *reasonIn) string { return in.Body.Reason })).forAdmins().forAllHubs().tagged("keys"),
		checked(operation(post, "/v1/keys/{id}/rotate", "Replace a key; the old one works a while longer", (*API).rotateKey), reasonOf(func(in *rotateIn) string { return in.Body.Reason })).answers(http.StatusCreated).forAdmins().forAllHubs().repeats(notIdempotent).tagged("keys"),
		operation(get, "/v1/payload-keys", "List the keys that payloads are encrypted with", (*API).listPayloadKeys).forAdmins().forAllHubs().tagged("keys"),
		checked(operation(post, "/v1/payload-keys/rotate", "Encrypt payloads with a new key from now on", (*API).rotatePayloadKey), why()).answers(http.StatusCreated).forAdmins().forAllHubs().repeats(notIdempotent).tagged("keys"),
		checked(operation(post, "/v1/payload-keys/wrap", "Encrypt the platform's plaintext keys with the master key", (*API).wrapKeys), why()).forAdmins().forAllHubs().tagged("keys"),
		operation(get, "/v1/tenant-keys", "List the keys that tenants are hashed with", (*API).listTenantKeys).forAdmins().forAllHubs().tagged("keys"),
		checked(operation(post, "/v1/tenant-keys/rotate", "Hash tenants with a new key from now on", (*API).rotateTenantKey), why()).answers(http.StatusCreated).forAdmins().forAllHubs().repeats(notIdempotent).tagged("keys"),
		checked(operation(post, "/v1/tenant-keys/{key_id}/delete", "Delete a tenant key that is not in use; what it hashed cannot be found again", (*API).deleteTenantKey), reasonOf(func(in *tenantKeyIn) string { return in.Body.Reason })).forAdmins().forAllHubs().tagged("keys"),
		operation(get, "/v1/adoptions", "List adopted tables, and how far nodes are with them", (*API).listAdoptions).by(Operator, Reader).tagged("operations"),
		operation(get, "/v1/jobs", "List scheduled jobs, and how they go", (*API).listJobs).by(Operator, Reader).under(priority).tagged("operations"),
		checked(operation(post, "/v1/jobs/{name}/run", "Run a scheduled job now", (*API).runJob), reasonOf(func(in *runJobIn) string { return in.Body.Reason })).forAdmins().forAllHubs().takesLong().tagged("operations"),
		operation(get, "/v1/doctor", "Find what is wrong with the installation", (*API).diagnose).by(Operator).forAllHubs().takesLong().tagged("operations"),
		operation(get, "/v1/bus", "Show how the bus does that carries events to the ledger", (*API).showBus).by(Operator, Reader).forAllHubs().under(priority).tagged("operations"),
		operation(get, "/v1/bus/quarantine", "List batches of events that could not be written", (*API).listQuarantine).by(Operator, Reader).forAllHubs().tagged("operations"),
		checked(operation(post, "/v1/bus/quarantine/retry", "Write batches in quarantine to the ledger", (*API).retryQuarantined), checkQuarantined(false)).by(Operator).forAllHubs().tagged("operations"),
		checked(operation(post, "/v1/bus/quarantine/drop", "Delete batches in quarantine, and their events", (*API).dropQuarantined), checkQuarantined(true)).forAdmins().forAllHubs().tagged("operations"),
		operation(get, "/v1/audit", "List administrative acts, newest first", (*API).audit).by(Operator).forAllHubs().under(priority).tagged("operations"),

		operation(get, "/healthz", "Check that the process runs", (*API).healthy).tagged("operations").under(always),
		operation(get, "/readyz", "Check that the node can serve", (*API).ready).tagged("operations").under(always),
	}
}
