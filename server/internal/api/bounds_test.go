package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Whatever the document says of a field holds: a value beyond its bounds, out of
// its list or too long is refused, in a batch for its item.
func TestDocumentedBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc := w.openapi()
	tried := 0
	for _, rt := range routeInfos() {
		op := follow(doc, "#/paths")[rt.Path].(object)[strings.ToLower(rt.Method)].(object)
		body, ok := op["requestBody"].(object)
		if !ok || rt.Path == "/v1/events" { // which governs each event by itself
			continue
		}
		schema := body["content"].(object)["application/json"].(object)["schema"].(object)
		path, valid := examples()[rt.Name()].make(w, dol)
		var sample object
		decodeInto(t, mustJSON(valid), &sample)
		for _, bad := range violations(doc, schema, sample) {
			tried++
			got := w.do("admin", rt.Method, path, bad.body)
			if got.Code == 400 || bytes.Contains(got.Body.Bytes(), []byte(`"failure":{"error_code":"VALIDATION_ERROR"`)) {
				continue
			}
			t.Errorf("%s with %s answers %d %.300s", rt.Name(), bad.name, got.Code, got.Body)
		}
	}
	if tried < 50 {
		t.Errorf("only %d bounds were tried", tried)
	}
	t.Log(tried)
}

// violation is a body that the document does not allow.
type violation struct {
	name string
	body object
}

// violations breaks each rule of a schema once.
func violations(doc, schema object, sample object) []violation {
	schema = resolve(doc, schema)
	var list []violation
	with := func(name, what string, value any) {
		body := maps.Clone(sample)
		body[name] = value
		list = append(list, violation{name + " " + what, body})
	}
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		rule := resolve(doc, properties[name].(object))
		if least, ok := rule["minimum"].(float64); ok {
			with(name, "below its minimum", least-1)
		}
		if most, ok := rule["maximum"].(float64); ok {
			with(name, "above its maximum", most+1)
		}
		if _, ok := rule["enum"]; ok {
			with(name, "not in its list", "NOTHING")
		}
		if most, ok := rule["maxLength"].(float64); ok {
			with(name, "too long", strings.Repeat("x ", int(most)/2+1))
		}
		if most, ok := rule["maxItems"].(float64); ok && sample[name] != nil {
			with(name, "too many", slices.Repeat(sample[name].([]any)[:1], int(most)+1))
		}
		if _, ok := rule["minItems"]; ok {
			with(name, "empty", []any{})
		}
		list = append(list, inside(doc, rule, sample, name)...)
	}
	return append(list, violation{"a field that there is not", with1(sample, "nonsense", 1)})
}

// inside breaks the rules of an object, or of the first item of a list.
func inside(doc, rule, sample object, name string) []violation {
	var list []violation
	switch value := sample[name].(type) {
	case object:
		if rule["properties"] == nil {
			return nil
		}
		for _, v := range violations(doc, rule, value) {
			list = append(list, violation{name + "." + v.name, with1(sample, name, v.body)})
		}
	case []any:
		items, _ := rule["items"].(object)
		first, ok := value[0].(object)
		if items == nil || !ok {
			return nil
		}
		for _, v := range violations(doc, items, first) {
			list = append(list, violation{name + "[0]." + v.name, with1(sample, name, []any{v.body})})
		}
	}
	return list
}

func with1(o object, name string, value any) object {
	o = maps.Clone(o)
	o[name] = value
	return o
}

func resolve(doc, schema object) object {
	for schema["$ref"] != nil {
		schema = follow(doc, schema["$ref"].(string))
	}
	return schema
}

func decodeInto(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
