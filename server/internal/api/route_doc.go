package api

import (
	_ "embed"
	"maps"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// manuals has the documentation of every route of the core, by its name. A route without one fails the tests.
func manuals() map[string]httpapi.Doc {
	all := map[string]httpapi.Doc{}
	for _, list := range []map[string]httpapi.Doc{
		errorManuals(), actManuals(), retryManuals(), promotionManuals(), workManuals(), deadLetterManuals(), groupManuals(), replayManuals(), bulkManuals(),
		eventManuals(), codeManuals(), policyManuals(), alertManuals(), notificationManuals(), operationManuals(), keyManuals(),
	} {
		maps.Copy(all, list)
	}
	return all
}

// areas are the tags, in the order in which they are read, before those of slices.
func areas() []httpapi.Area {
	return []httpapi.Area{
		{Name: "errors", Description: "An error is one governed failure of one entity: it is reported once, classified by its code, retried by policy, parked for people, escalated, resolved and archived."},
		{Name: "acts", Description: "What people do with errors. Each verb takes one error by its id, or many: preview a filter, look at the count, and send the preview's `token` to act on exactly that set. An act that the error's state does not allow is refused with `INVALID_TRANSITION`, whose details name the acts that it allows."},
		{Name: "bulk operations", Description: "Acts on up to 100,000 errors as recorded objects: a filter freezes a set, somebody confirms it, and the server carries the act out with a result for each error. It can be paused, resumed and cancelled."},
		{Name: "retries", Description: "A worker claims errors that are due under a lease, tries the work again, and submits a result with the `lease_token`. Claims are long polls; a lease that expires returns the error to the queue."},
		{Name: "promotion", Description: "The gate before an entity's next phase: it is closed while an error that blocks it is open."},
		{Name: "work", Description: "The queue of staged work: a pipeline's stages claim work, keep the output of finished stages, and submit results. Work that fails for good becomes a dead letter."},
		{Name: "dead letters", Description: "Work that failed for good, and the five steps that lead it back or end it: triage, remediate, validate, replay, verify. No step can be skipped."},
		{Name: "replays", Description: "Sends dead letters back to work at a rate and in a ramp: a canary first, then a share, then the rest. A replay stops itself if too many fail again."},
		{Name: "events", Description: "The ledger: every failure as an immutable event without message, stack or payload, and the statistics made of it."},
		{Name: "codes", Description: "The registry of error codes: what each means, whether trying again helps, and the way out."},
		{Name: "policy", Description: "The rules that decide what happens to errors, as one versioned file."},
		{Name: "alerts", Description: "Alert rules of the policy, evaluated every 15 seconds; silences; and which provider of a group is in use."},
		{Name: "notifications", Description: "What people are notified of, through which channel, and what could not be delivered."},
	}
}

// lastAreas are the tags that are read after those of slices.
func lastAreas() []httpapi.Area {
	return []httpapi.Area{
		{Name: "operations", Description: "Scheduled jobs, receivers, the audit, and whether the node is well."},
		{Name: "keys", Description: "API keys of programs and people, and the platform's own keys. For admins."},
	}
}

// exampleTomorrow is a time that must be ahead: pages show tomorrow in its place.
const exampleTomorrow = "2026-02-06T12:00:00Z"

// answersJSON are answers that a node gave, by the name of the route; a test makes them
// anew and holds them to what a node answers.
//
//go:embed answers.json
var answersJSON []byte

// Document makes the OpenAPI document of the routes of this package and of slices.
func Document(version string, slices ...httpapi.Set) ([]byte, error) {
	return httpapi.Document(httpapi.Info{
		Title: "Recoup", Version: version,
		Description: "Failed work is recorded once, classified, retried by policy, parked for people, escalated, replayed, recovered and archived.",
	}, sets(slices)...)
}
