package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

// object is JSON that nobody has a type for.
type object = map[string]any

// openapi returns the document as it is.
func (w *world) openapi() object {
	w.Helper()
	var doc object
	if err := json.Unmarshal(w.document.text, &doc); err != nil {
		w.Fatal(err)
	}
	return doc
}

// The document is OpenAPI 3.1: every schema is one of JSON Schema 2020-12, every
// reference leads somewhere, every parameter of a path is declared.
func TestDocumentStructure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc := w.openapi()
	info := doc["info"].(object)
	if doc["openapi"] != "3.1.0" || info["title"] == "" || info["version"] != "test" {
		t.Errorf("the head is %v %v", doc["openapi"], info)
	}
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	walk(doc, func(at string, o object) {
		if ref, ok := o["$ref"].(string); ok && follow(doc, ref) == nil {
			t.Errorf("%s refers to %s, which does not exist", at, ref)
		}
		if schema, ok := o["schema"]; ok {
			if err := meta.Validate(schema); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
	})
	for name, schema := range doc["components"].(object)["schemas"].(object) {
		if err := meta.Validate(schema); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.document.compile(t, "components", "schemas", name)
	}
}

// follow returns what a reference within a document means; nil: nothing.
func follow(doc object, ref string) object {
	at := any(doc)
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, ok := at.(object)
		if !ok {
			return nil
		}
		at = o[part]
	}
	o, _ := at.(object)
	return o
}

// walk visits every object of a document.
func walk(v any, visit func(at string, o object)) {
	var step func(at string, v any)
	step = func(at string, v any) {
		switch v := v.(type) {
		case object:
			visit(at, v)
			for name, member := range v {
				step(at+"/"+name, member)
			}
		case []any:
			for i, item := range v {
				step(fmt.Sprintf("%s/%d", at, i), item)
			}
		}
	}
	step("", v)
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// Every route is documented, with all that a caller must know, and nothing else is.
func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := w.openapi()["paths"].(object)
	ids := map[string]string{}
	var list strings.Builder
	documented := 0
	for _, methods := range paths {
		documented += len(methods.(object))
	}
	if documented != len(routeInfos()) {
		t.Errorf("%d operations are documented, and there are %d routes", documented, len(routeInfos()))
	}
	for _, rt := range routeInfos() {
		op, ok := paths[rt.Path].(object)[strings.ToLower(rt.Method)].(object)
		if !ok {
			t.Errorf("%s is not documented", rt.Name())
			continue
		}
		if id := op["operationId"].(string); ids[id] != "" {
			t.Errorf("%s and %s are both called %s", rt.Name(), ids[id], id)
		} else {
			ids[id] = rt.Name()
		}
		holdOperation(t, rt, op)
		var roles []string
		for _, role := range listOf(op["x-roles"]) {
			roles = append(roles, role.(string))
		}
		fmt.Fprintf(&list, "%-6s %-46s %d  %-13s %s\n", rt.Method, rt.Path, rt.Status, op["tags"].([]any)[0], strings.Join(roles, ", "))
	}
	golden.Equal(t, filepath.Join("testdata", "operations.golden"), list.String())
}

func holdOperation(t *testing.T, rt api.RouteInfo, op object) {
	t.Helper()
	var inPath []string
	keyed := false
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		p := p.(object)
		if p["in"] == "path" {
			inPath = append(inPath, p["name"].(string))
		}
		keyed = keyed || p["name"] == "Idempotency-Key"
	}
	for _, match := range pathParameter.FindAllStringSubmatch(rt.Path, -1) {
		if !slices.Contains(inPath, match[1]) {
			t.Errorf("%s does not declare %s", rt.Name(), match[1])
		}
	}
	_, guarded := op["security"]
	responses := op["responses"].(object)
	switch {
	case op["summary"] == "" || op["description"] == nil || guarded == rt.Open:
		t.Errorf("%s lacks its summary, or its manual (manual_*.go), or says the wrong thing about keys", rt.Name())
	case keyed != rt.Keyed:
		t.Errorf("%s says the wrong thing about Idempotency-Key", rt.Name())
	case responses[fmt.Sprint(rt.Status)] == nil || responses["default"] == nil:
		t.Errorf("%s does not document its answers: %v", rt.Name(), responses)
	case rt.Method != http.MethodGet && rt.Method != http.MethodDelete && op["requestBody"] == nil:
		t.Errorf("%s does not document its body", rt.Name())
	}
}

// Whatever a caller can send or gets is described: every parameter, and every member of
// every object.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	walk(w.openapi(), func(at string, o object) {
		if o["in"] != nil && o["description"] == nil {
			t.Errorf("the parameter %s of %s has no description: give its field a doc tag", o["name"], at)
		}
		properties, _ := o["properties"].(object)
		for name, member := range properties {
			if member := member.(object); o["type"] == "object" && member["description"] == nil && member["$ref"] == nil {
				t.Errorf("%s of %s has no description: give its field a doc tag", name, at)
			}
		}
	})
}
