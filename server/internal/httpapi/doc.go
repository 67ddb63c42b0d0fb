package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Doc is the documentation of a route beyond its types: its purpose, an example that can be
// sent as it stands, and how it fails.
type Doc struct {
	About  string
	Params map[string]string // an example of each that the example names; those of a path have defaults
	Body   string            // an example of a body, as JSON
	Fails  []recoup.Code     // beyond what follows from the route itself
}

// Documented gives routes their documentation, by the name of the route. Documentation of
// no route is a mistake of the program.
func Documented(routes []*Route, docs map[string]Doc) []*Route {
	used := 0
	for _, r := range routes {
		if d, ok := docs[r.name()]; ok {
			r.Doc(d)
			used++
		}
	}
	if used != len(docs) {
		panic(fmt.Sprintf("httpapi: %d routes are documented, and %d of them exist", len(docs), used))
	}
	return routes
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
func (r *Route) codes(m Doc) []recoup.Code {
	list := append([]recoup.Code{fault.CodeValidationError}, m.Fails...)
	if _, hasBody := r.Info.In.FieldByName("Body"); hasBody {
		list = append(list, fault.CodeMalformedJSON, fault.CodeUnsupportedContentType, fault.CodePayloadTooLarge)
	}
	if r.Info.Repeat == RepeatKeyed {
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

// Example ids for documentation. They do not exist.
const (
	ExampleID     = "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"
	ExampleEntity = "CO-20260205-000001"
)

// illustrate adds the examples to what is documented of a route.
func (m Doc) illustrate(op *huma.Operation) {
	given := map[string]string{"id": ExampleID, "entity": ExampleEntity}
	maps.Copy(given, m.Params)
	for _, p := range op.Parameters {
		if value, ok := given[p.Name]; ok && p.In != "header" {
			p.Example = typed(p.Schema, value)
		}
	}
	if m.Body != "" {
		op.RequestBody.Content[fault.MediaJSON].Example = json.RawMessage(m.Body)
	}
}

// typed returns the example of a parameter as its schema has it: manuals write all of them as text.
func typed(schema *huma.Schema, text string) any {
	var value any
	switch schema.Type {
	case huma.TypeInteger, huma.TypeNumber, huma.TypeBoolean, huma.TypeArray:
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			panic(fmt.Sprintf("httpapi: the example %s is no %s: %v", text, schema.Type, err)) // it is part of the program
		}
		return value
	}
	return text
}
