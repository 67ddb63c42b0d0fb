package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// requiredIn returns which members of an operation's body the document requires.
func (d *document) requiredIn(t *testing.T, pattern string) (required []string) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref   string `json:"$ref"`
						AllOf []struct {
							Ref      string `json:"$ref"`
							Required []string
						}
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Required []string }
		}
	}
	if err := json.Unmarshal(d.text, &doc); err != nil {
		t.Fatal(err)
	}
	method, path, _ := strings.Cut(pattern, " ")
	schema := doc.Paths[path][strings.ToLower(method)].RequestBody.Content[fault.MediaJSON].Schema
	of := func(ref string) []string { return doc.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]].Required }
	required = of(schema.Ref)
	for _, part := range schema.AllOf {
		required = slices.Concat(required, of(part.Ref), part.Required)
	}
	return required
}

// What the document calls required is what the server demands: without one of
// these members a request is refused, and says so of that member; what it does not
// call required may be left out, or is asked for because of another member.
func TestRequiredIsWhatIsDemanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := examples()
	demanded := 0
	for _, pattern := range slices.Sorted(maps.Keys(list)) {
		method, _, _ := strings.Cut(pattern, " ")
		required := w.document.requiredIn(t, pattern)
		for _, name := range slices.Sorted(maps.Keys(without(w, list[pattern], ""))) {
			refusal := w.lacking(method, list[pattern], name)
			if must := slices.Contains(required, name); must && !refusal[name] {
				t.Errorf("%s: the document requires %s, and the server does not ask for it", pattern, name)
			} else if !must && refusal[name] && name != "filter" && !conditional[pattern+" "+name] && !(name == "ids" && isBulkAct(pattern)) { // instead of a filter, all; instead of ids, a token
				t.Errorf("%s: the server asks for %s, and the document does not require it", pattern, name)
			}
			demanded++
		}
	}
	if demanded < 100 {
		t.Errorf("only %d members were left out", demanded)
	}
}

// isBulkAct reports whether a call does an act on named errors.
func isBulkAct(pattern string) bool {
	name, ok := strings.CutPrefix(pattern, "POST /v1/errors/")
	return ok && recoup.ActName(name).Kind() != (recoup.ActKind{})
}

// conditional are members that other members, or the path, make necessary.
var conditional = map[string]bool{
	"POST /v1/classify status":                       true, // or a provider, or an SQLSTATE
	"POST /v1/dead-letters/{id}/remediate corrected": true, // what its cause asks for
	"POST /v1/events code":                           true, // it has three forms, which the document lists
	"POST /v1/events service":                        true, // or a header
}

// without returns the body of an example, less one member.
func without(w *world, x example, name string) map[string]json.RawMessage {
	w.Helper()
	_, body := x.make(w, dol)
	members := map[string]json.RawMessage{}
	if body == nil || json.Unmarshal(mustJSON(body), &members) != nil {
		return nil // there is none, or it is a list
	}
	delete(members, name)
	return members
}

// lacking sends an example without a member, and returns of which members the
// answer says that they are missing.
func (w *world) lacking(method string, x example, name string) map[string]bool {
	w.Helper()
	path, body := x.make(w, dol)
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(mustJSON(body), &members); err != nil {
		w.Fatal(err)
	}
	delete(members, name)
	answer := w.do("admin", method, path, members)
	missing := map[string]bool{}
	if answer.Code != http.StatusBadRequest {
		return missing
	}
	for _, f := range answer.failed(http.StatusBadRequest, fault.CodeValidationError).Fields {
		missing[f.Field] = true
	}
	return missing
}
