package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// routeDoc is what the document says of a route beyond its types: what it is for, an
// example that can be sent as it stands, and how it fails.
type routeDoc struct {
	about  string
	params map[string]string // an example of each that the example names; those of a path have defaults
	body   string            // an example of a body, as JSON
	fails  []recoup.Code     // beyond what follows from the route itself
}

// manuals has the documentation of every route, by its name. A route without one fails the tests.
func manuals() map[string]routeDoc {
	all := map[string]routeDoc{}
	for _, list := range []map[string]routeDoc{
		errorManuals(), actManuals(), retryManuals(), promotionManuals(), workManuals(), deadLetterManuals(), groupManuals(), replayManuals(), bulkManuals(),
		eventManuals(), codeManuals(), policyManuals(), alertManuals(), notificationManuals(), gateZeroManuals(), operationManuals(), keyManuals(),
	} {
		maps.Copy(all, list)
	}
	return all
}

// areas are the tags, in the order in which they are read.
func areas() []*huma.Tag {
	return []*huma.Tag{
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
		{Name: "Gate Zero", Description: "Company candidates before they enter: imported in batches, verified, retried within a window, and stopped by a kill switch."},
		{Name: "operations", Description: "Scheduled jobs, receivers, the audit, and whether the node is well."},
		{Name: "keys", Description: "API keys of programs and people, and the platform's own keys. For admins."},
	}
}

// commonCodes are what any call may be answered.
func commonCodes() []recoup.Code {
	return []recoup.Code{
		fault.CodeInvalidAPIKey, fault.CodeAPIKeyExpired, fault.CodeInsufficientPermissions, fault.CodeRateLimitExceeded, fault.CodeServiceOverloaded,
		fault.CodeTimeout, fault.CodeRequestCancelled, fault.CodeDatabaseBusy, fault.CodeDatabaseConnectionError, fault.CodeTemporaryUnavailable,
		fault.CodeOutcomeUnknown, fault.CodeStorageFull, fault.CodeInternalError,
	}
}

// codes are what a route may be answered beside those of any call.
func (r *route) codes(m routeDoc) []recoup.Code {
	list := append([]recoup.Code{fault.CodeValidationError}, m.fails...)
	if _, hasBody := r.in.FieldByName("Body"); hasBody {
		list = append(list, fault.CodeMalformedJSON, fault.CodeUnsupportedContentType, fault.CodePayloadTooLarge)
	}
	if r.repeat == keyed {
		list = append(list, fault.CodeIdempotencyConflict)
	}
	return list
}

// byStatus sorts codes by their HTTP status.
func byStatus(codes []recoup.Code) map[string][]recoup.Code {
	sorted := map[string][]recoup.Code{}
	for _, code := range codes {
		def, _ := fault.Default().Lookup(code)
		status := strconv.Itoa(def.HTTPStatus)
		sorted[status] = append(sorted[status], code)
	}
	for _, list := range sorted {
		slices.Sort(list)
	}
	return sorted
}

// Examples of what paths name. The ids are made up: nothing has them.
const (
	exampleID     = "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"
	exampleEntity = "CO-20260205-000001"

	// exampleTomorrow is a time that must be ahead: pages show tomorrow in its place.
	exampleTomorrow = "2026-02-06T12:00:00Z"
)

// illustrate adds the examples to what is documented of a route.
func (m routeDoc) illustrate(op *huma.Operation) {
	given := map[string]string{"id": exampleID, "entity": exampleEntity}
	maps.Copy(given, m.params)
	for _, p := range op.Parameters {
		if value, ok := given[p.Name]; ok && p.In != "header" {
			p.Example = typed(p.Schema, value)
		}
	}
	if m.body != "" {
		op.RequestBody.Content[fault.MediaJSON].Example = json.RawMessage(m.body)
	}
}

// typed returns the example of a parameter as its schema has it: manuals write all of them as text.
func typed(schema *huma.Schema, text string) any {
	var value any
	switch schema.Type {
	case huma.TypeInteger, huma.TypeNumber, huma.TypeBoolean, huma.TypeArray:
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			panic(fmt.Sprintf("api: the example %s is no %s: %v", text, schema.Type, err)) // it is part of the program
		}
		return value
	}
	return text
}

//go:embed answers.json
var answersJSON []byte

// exampleAnswers are answers that a node gave, by the name of the route; a test makes them
// anew and holds them to what a node answers.
func exampleAnswers() map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(answersJSON, &all); err != nil {
		panic(fmt.Sprintf("api: answers.json: %v", err)) // it is part of the program
	}
	return all
}
