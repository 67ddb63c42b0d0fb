package endtoend

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// document is what the OpenAPI document says of requests. It is made from the
// routes, so what it does not have cannot be sent.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	Parameters []parameter `json:"parameters"`
	Body       struct {
		Content map[string]struct {
			Schema *schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

type parameter struct {
	Name   string  `json:"name"`
	In     string  `json:"in"` // path, query or header
	Schema *schema `json:"schema"`
}

type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a name or a list of names
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Others     json.RawMessage    `json:"additionalProperties"`
	OneOf      []*schema          `json:"oneOf"`
	AllOf      []*schema          `json:"allOf"` // a schema, and what is required beside it
}

// is reports whether a value of the schema may have a type.
func (s *schema) is(name string) bool {
	if list, ok := s.Type.([]any); ok {
		return slices.Contains(list, any(name))
	}
	return s.Type == name
}

// The steps of a path that are no names.
const (
	item   = "[]"  // the first of a list
	member = "{}"  // of an object whose names are the caller's
	naming = "{?}" // the name of such a member
)

// paths lists where in a body text may stand. What has no type takes anything.
func (d *document) paths(s *schema, at []string) [][]string {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = d.Components.Schemas[name]
	}
	deeper := func(s *schema, step string) [][]string { return d.paths(s, append(slices.Clone(at), step)) }
	var all [][]string
	for _, one := range s.OneOf {
		all = append(all, d.paths(one, at)...)
	}
	if len(s.AllOf) > 0 {
		return d.paths(s.AllOf[0], at)
	}
	switch {
	case s.is("array"):
		return append(all, deeper(s.Items, item)...)
	case s.is("object"):
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			all = append(all, deeper(s.Properties[name], name)...)
		}
		others := new(schema)
		if json.Unmarshal(s.Others, others) == nil && s.Others != nil {
			all = append(all, append(slices.Clone(at), naming))
			all = append(all, deeper(others, member)...)
		}
	case s.is("string"), s.Type == nil && s.OneOf == nil:
		return append(all, at)
	}
	return all
}

// plant puts text into a body at a path, and makes what is missing on the way.
// Members of free names get the given one.
func plant(body any, at []string, name, text string) any {
	if len(at) == 0 {
		return text
	}
	if at[0] == item {
		list, _ := body.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = plant(list[0], at[1:], name, text)
		return list
	}
	object, _ := body.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	switch at[0] {
	case naming:
		object[text] = "x"
	case member:
		object[name] = plant(object[name], at[1:], name, text)
	default:
		object[at[0]] = plant(object[at[0]], at[1:], name, text)
	}
	return object
}
