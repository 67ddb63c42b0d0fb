package api

import (
	"net/http"
	"slices"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// sets is everything that the API offers, in the order of its documents: routes of the core,
// those of slices, and the rest of the core. Admins may call all of it.
func sets(more []httpapi.Set) []httpapi.Set {
	first := slices.Concat(workRoutes(), errorGroupRoutes(), viewRoutes(), ledgerRoutes(), adminRoutes(), alertRoutes(), noticeRoutes(), receiverRoutes())
	last := slices.Concat(letterRoutes(), idRoutes(), acts(), operationRoutes())
	httpapi.Documented(slices.Concat(first, last), manuals())
	all := []httpapi.Set{{Areas: areas(), Routes: first, Answers: answersJSON}}
	return append(append(all, more...), httpapi.Set{Areas: lastAreas(), Routes: last})
}

// routes lists the routes of this package.
func routes() []*httpapi.Route {
	var list []*httpapi.Route
	for _, s := range sets(nil) {
		list = append(list, s.Routes...)
	}
	return list
}

const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete

// readers are the roles that see errors.
func readers() []httpapi.Role {
	return []httpapi.Role{httpapi.RoleWorker, httpapi.RoleOperator, httpapi.RoleReader}
}

// everyone may know what the rules are.
func everyone() []httpapi.Role { return httpapi.Roles() }

// workRoutes are about errors, their retries and the gate.
func workRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.WithCheck(httpapi.Op(post, "/v1/errors", "Report a failure", (*API).report), httpapi.InOneTurn((*API).checkReport)).Status(http.StatusCreated).Roles(httpapi.RoleIngest, httpapi.RoleWorker, httpapi.RoleOperator).Repeat(httpapi.RepeatKeyed).Tag("errors"),
		reportMany().MaxBody(httpapi.BatchBody).Roles(httpapi.RoleIngest, httpapi.RoleWorker, httpapi.RoleOperator).Repeat(httpapi.RepeatKeyed).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/errors/import", "Import failures of earlier times: CSV or NDJSON; rows succeed or fail independently", (*API).importErrors), (*API).checkImport).MaxBody(importBody).Long().Roles(httpapi.RoleOperator).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(get, "/v1/errors", "List open errors, newest first", (*API).listErrors), (*API).checkFilter).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.Op(get, "/v1/errors/parked", "List the park queue, longest parked first", (*API).listParked).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.Op(get, "/v1/errors/archived", "List the archive of a table, last archived first", (*API).listArchived).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.Op(get, "/v1/workers", "Whether workers claim what is due, by table and lane", (*API).workers).Roles(readers()...).Load(httpapi.LoadPriority).Tag("operations"),
		httpapi.Op(get, "/v1/errors/counts", "Count errors by table and state", (*API).counts).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(get, "/v1/series", "Count what happened to errors, hour by hour", (*API).series), (*API).checkSeries).Roles(readers()...).Load(httpapi.LoadPriority).Tag("operations"),
		httpapi.Op(get, "/v1/forecast", "Forecast when queues are empty and which deadlines are missed", (*API).forecast).Roles(readers()...).Load(httpapi.LoadPriority).Tag("operations"),
		httpapi.WithStream(httpapi.Op(get, "/v1/stream", "Follow what changes, as server-sent events", (*API).showStream), (*API).stream).Roles(readers()...).Load(httpapi.LoadPriority).Tag("operations"),
		httpapi.Op(get, "/v1/errors/{id}", "Show an error", (*API).showError).Roles(readers()...).Load(httpapi.LoadPriority).ReadsLittle().Tag("errors"),
		httpapi.Op(get, "/v1/errors/{id}/history", "Show what happened to an error", (*API).history).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.Op(get, "/v1/errors/{id}/source", "Show what an error keeps of its row of an adopted table", (*API).showSource).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/errors/{id}/source/decrypt", "Decrypt what an error keeps of its row; audited", (*API).decryptSource), neededReason(func(in *sourceLookIn) string { return in.Body.Reason })).AdminsOnly().Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent).Tag("errors"),
		httpapi.Op(get, "/v1/errors/{id}/explain", "Explain which rules decided and what happens next", (*API).explain).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),

		httpapi.WithCheck(httpapi.Op(post, "/v1/retries/claim", "Claim errors that are due, or wait until some are", (*API).claim), (*API).checkClaim).Roles(httpapi.RoleWorker).Load(httpapi.LoadWaiting).Repeat(httpapi.RepeatNotIdempotent).Tag("retries"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/retries/results", "Submit results of retries in bulk; items succeed or fail independently", (*API).results), (*API).checkResults).MaxBody(httpapi.BatchBody).Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatKeyed).Tag("retries"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/retries/{id}/succeed", "Report a retry that succeeded", (*API).succeed), httpapi.InOneTurn(checkResult("succeed"))).Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatKeyed).Tag("retries"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/retries/{id}/fail", "Report a retry that failed", (*API).fail), httpapi.InOneTurn(checkResult("fail"))).Require("code").Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatKeyed).Tag("retries"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/retries/{id}/extend", "Extend a lease", (*API).extend), httpapi.InOneTurn(checkResult("extend"))).Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatKeyed).Tag("retries"),

		httpapi.Op(get, "/v1/promotion/{entity}", "Ask whether an entity may go on", (*API).gate).Roles(readers()...).Load(httpapi.LoadPriority).NoTimeout().Tag("promotion"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/promotions", "Check the gate and record a promotion, in one transaction", (*API).promote), (*API).checkPromotion).Status(http.StatusCreated).Roles(httpapi.RoleWorker, httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatKeyed).Tag("promotion"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/processed", "Count work that was done, for error rates", (*API).processed), (*API).checkCounts).MaxBody(1<<20).Status(http.StatusAccepted).Roles(httpapi.RoleIngest, httpapi.RoleWorker, httpapi.RoleOperator).Repeat(httpapi.RepeatNotIdempotent).Tag("promotion"),
	}
}

// ledgerRoutes are about events, and the codes that they have.
func ledgerRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		sendEvents().Roles(httpapi.RoleIngest, httpapi.RoleWorker, httpapi.RoleOperator).Tag("events"),
		httpapi.Op(get, "/v1/events", "List events, newest first", (*API).listEvents).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("events"),
		httpapi.Op(get, "/v1/events/export", "Export counts by day, service and code; with rows=true the events themselves", (*API).exportEvents).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("events"),
		httpapi.Op(get, "/v1/stats/top-codes", "List the most frequent codes", (*API).topCodes).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("events"),
		httpapi.Op(get, "/v1/stats/retryable-rate", "Show the share of retryable failures, by service", (*API).retryableRate).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("events"),
		httpapi.Op(get, "/v1/stats/daily", "Count events by day, service and code", (*API).daily).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("events"),
		httpapi.Op(get, "/v1/stats/drops", "Count what was left out of the ledger, by day and reason", (*API).drops).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("events"),

		httpapi.Op(get, "/v1/codes", "List codes", (*API).listCodes).Roles(everyone()...).ReadsLittle().Tag("codes"),
		httpapi.Op(get, "/v1/codes/{code}", "Show a code", (*API).showCode).Roles(everyone()...).ReadsLittle().Tag("codes"),
		httpapi.WithCheck(httpapi.Op(put, "/v1/codes/{code}", "Register a code, or change one of your own", (*API).putCode), (*API).checkCode).AdminsOnly().AllHubs().Tag("codes"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/classify", "Classify a failure", (*API).classify), httpapi.InOneTurn((*API).checkClassify)).ReadOnly().Roles(everyone()...).Tag("codes"),
	}
}

// adminRoutes are about the rules, who may do what, and the node itself.
func adminRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/policy", "Show the policy", (*API).showPolicy).Roles(everyone()...).ReadsLittle().Tag("policy"),
		httpapi.Op(get, "/v1/tables", "List the error tables, and what has their names in the database", (*API).tables).Roles(readers()...).Load(httpapi.LoadPriority).Tag("policy"),
		httpapi.Op(get, "/v1/policy/versions", "List the policies that were in force", (*API).policyVersions).Roles(readers()...).Tag("policy"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/policy/plan", "Preview what a policy would change", (*API).planPolicy), (*API).checkPlan).ReadOnly().MaxBody(1 << 20).Roles(httpapi.RoleOperator).AllHubs().Long().ReadsMuch().Tag("policy"),
		httpapi.WithCheck(httpapi.Op(put, "/v1/policy", "Put a policy in force", (*API).putPolicy), (*API).checkPolicy).MaxBody(1 << 20).AdminsOnly().AllHubs().Long().Tag("policy"),

		httpapi.Op(get, "/v1/keys", "List keys", (*API).listKeys).AdminsOnly().AllHubs().Tag("keys"),
		httpapi.Op(get, "/v1/keys/self", "Show the key that calls", (*API).showSelf).Roles(everyone()...).Load(httpapi.LoadPriority).ReadsLittle().Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/keys", "Create a key", (*API).createKey), (*API).checkKey).Status(http.StatusCreated).AdminsOnly().AllHubs().Repeat(httpapi.RepeatNotIdempotent).Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/keys/{id}/revoke", "Revoke a key", (*API).revokeKey), reasonOf(func(in *reasonIn) string { return in.Body.Reason })).AdminsOnly().AllHubs().Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/keys/{id}/rotate", "Replace a key; the old one works a while longer", (*API).rotateKey), reasonOf(func(in *rotateIn) string { return in.Body.Reason })).Status(http.StatusCreated).AdminsOnly().AllHubs().Repeat(httpapi.RepeatNotIdempotent).Tag("keys"),
		httpapi.Op(get, "/v1/payload-keys", "List the keys that payloads are encrypted with", (*API).listPayloadKeys).AdminsOnly().AllHubs().Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/payload-keys/rotate", "Encrypt payloads with a new key from now on", (*API).rotatePayloadKey), why()).Status(http.StatusCreated).AdminsOnly().AllHubs().Repeat(httpapi.RepeatNotIdempotent).Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/payload-keys/wrap", "Encrypt the platform's plaintext keys with the master key", (*API).wrapKeys), why()).AdminsOnly().AllHubs().Tag("keys"),
		httpapi.Op(get, "/v1/tenant-keys", "List the keys that tenants are hashed with", (*API).listTenantKeys).AdminsOnly().AllHubs().Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/tenant-keys/rotate", "Hash tenants with a new key from now on", (*API).rotateTenantKey), why()).Status(http.StatusCreated).AdminsOnly().AllHubs().Repeat(httpapi.RepeatNotIdempotent).Tag("keys"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/tenant-keys/{key_id}/delete", "Delete a tenant key that is not in use; what it hashed cannot be found again", (*API).deleteTenantKey), reasonOf(func(in *tenantKeyIn) string { return in.Body.Reason })).AdminsOnly().AllHubs().Tag("keys"),
		httpapi.Op(get, "/v1/adoptions", "List adopted tables, and how far nodes are with them", (*API).listAdoptions).Roles(httpapi.RoleOperator, httpapi.RoleReader).Tag("operations"),
		httpapi.Op(get, "/v1/jobs", "List scheduled jobs, and how they go", (*API).listJobs).Roles(httpapi.RoleOperator, httpapi.RoleReader).Load(httpapi.LoadPriority).Tag("operations"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/jobs/{name}/run", "Run a scheduled job now", (*API).runJob), reasonOf(func(in *runJobIn) string { return in.Body.Reason })).AdminsOnly().AllHubs().Long().Tag("operations"),
		httpapi.Op(get, "/v1/doctor", "Find what is wrong with the installation", (*API).diagnose).Roles(httpapi.RoleOperator).AllHubs().Long().Tag("operations"),
		httpapi.Op(get, "/v1/audit", "List administrative acts, newest first", (*API).audit).Roles(httpapi.RoleOperator).AllHubs().Load(httpapi.LoadPriority).Tag("operations"),

		httpapi.Op(get, "/healthz", "Check that the process runs", (*API).healthy).Tag("operations").Load(httpapi.LoadAlways),
		httpapi.Op(get, "/readyz", "Check that the node can serve", (*API).ready).Tag("operations").Load(httpapi.LoadAlways),
	}
}
