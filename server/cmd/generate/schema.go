package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the document uses. The rest is refused, so that
// no type becomes wider than what it stands for without anybody noticing.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Others      *others            `json:"additionalProperties"`
	AllOf       []*schema          `json:"allOf"`
	OneOf       []*schema          `json:"oneOf"`
	AnyOf       json.RawMessage    `json:"anyOf"` // these two are not known
	Const       json.RawMessage    `json:"const"`
}

// types is one type, or several.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	*t = make(types, 1)
	return json.Unmarshal(b, &(*t)[0])
}

// others are the members of an object that have no name in its schema: none, or of a
// schema.
type others struct{ of *schema }

func (o *others) UnmarshalJSON(b []byte) error {
	if string(b) == "false" {
		return nil
	}
	return json.Unmarshal(b, &o.of)
}

// typeOf returns a schema as a type of TypeScript.
func (w *writer) typeOf(at string, s *schema) string {
	switch {
	case len(s.AnyOf)+len(s.Const) > 0, len(s.AllOf) > 0 && !(len(s.AllOf) == 2 && s.AllOf[1].demandsOnly()):
		w.problems = append(w.problems, fmt.Errorf("%s: no type for this combination of schemas", at))
		return "never"
	case s.Ref != "":
		return typeName(path.Base(s.Ref))
	case len(s.OneOf) > 0:
		return w.union(at, s.OneOf)
	case len(s.AllOf) > 0:
		whole := w.typeOf(at, s.AllOf[0])
		return fmt.Sprintf("%s & Required<Pick<%s, %s>>", whole, whole, literals(s.AllOf[1].Required))
	case len(s.Enum) > 0:
		return literals(s.Enum)
	case len(s.Type) == 0:
		return "unknown"
	}
	var all []string
	for _, t := range s.Type {
		all = append(all, w.plain(at, t, s))
	}
	return strings.Join(all, " | ")
}

// plain is the type of a schema that says which of JSON's it is.
func (w *writer) plain(at, name string, s *schema) string {
	switch name {
	case "string", "boolean", "null":
		return name
	case "integer", "number":
		return "number"
	case "array":
		if s.Items != nil {
			return "Array<" + w.typeOf(at, s.Items) + ">"
		}
	case "object":
		return w.object(at, s)
	}
	w.problems = append(w.problems, fmt.Errorf("%s: no type for %q", at, name))
	return "never"
}

func (w *writer) object(at string, s *schema) string {
	if len(s.Properties) == 0 && s.Others != nil && s.Others.of != nil {
		return "Record<string, " + w.typeOf(at, s.Others.of) + ">"
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		members = append(members, memberName(name)+optional(slices.Contains(s.Required, name))+": "+w.typeOf(at+"."+name, s.Properties[name]))
	}
	if len(members) == 0 {
		return "Record<string, never>"
	}
	return "{ " + strings.Join(members, "; ") + " }"
}

// demandsOnly reports whether a schema does nothing but name members that must be there.
func (s *schema) demandsOnly() bool { return len(s.Required) > 0 && len(s.Type) == 0 && s.Ref == "" }

func (w *writer) union(at string, list []*schema) string {
	var all []string
	for _, s := range list {
		all = append(all, w.typeOf(at, s))
	}
	return strings.Join(all, " | ")
}

// literals is a union of values.
func literals[T any](values []T) string {
	var all []string
	for _, v := range values {
		text, _ := json.Marshal(v) // it came out of JSON
		all = append(all, string(text))
	}
	return strings.Join(all, " | ")
}
