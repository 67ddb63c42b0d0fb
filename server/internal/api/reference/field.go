package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Field is a parameter, or a member of a body or of an answer.
type Field struct {
	Name        string // with the way to it: reports[].code
	Type        string
	Object      string // the object that the page describes for itself; empty: none
	Required    bool
	Limits      []string
	Values      []string // those that it may have; none: any
	Default     string
	Description string
}

// Words are what a search finds a field by.
func (f *Field) words() string {
	return f.Name + " " + f.Description + " " + strings.Join(f.Values, " ")
}

// Around is the type before the name of an object: "list of ".
func (f *Field) Around() string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(f.Type, "s"), "object"), " or null")
}

// Sentence is the description with a capital letter, unless it begins with a name.
func (f *Field) Sentence() string {
	first, _, _ := strings.Cut(f.Description, " ")
	if f.Description == "" || strings.ContainsAny(first, "=_") || strings.HasSuffix(first, ":") && first != "default:" {
		return f.Description
	}
	return strings.ToUpper(f.Description[:1]) + f.Description[1:]
}

// maxNesting is how deep the members of members are shown.
const maxNesting = 5

// fields lists the members of an object, and theirs behind each; those of objects that are
// described apart are not repeated.
func (d *openAPI) fields(s *schema, prefix string, apart func(name string) bool) []Field {
	return d.nested(s, prefix, apart, nil)
}

func (d *openAPI) nested(s *schema, prefix string, apart func(string) bool, way []string) (list []Field) {
	object := d.resolve(s)
	for _, name := range object.members() {
		member := object.Properties[name]
		f := d.field(prefix+name, member, slices.Contains(object.Required, name))
		inner, suffix := d.inner(member)
		of := base(inner.name())
		switch {
		case of != "" && apart != nil && apart(of):
			f.Object = of
			list = append(list, f)
		case slices.Contains(way, of) && of != "", len(way) == maxNesting:
			list = append(list, f)
		default:
			list = append(list, f)
			list = append(list, d.nested(inner, prefix+name+suffix, apart, append(slices.Clone(way), of))...)
		}
	}
	return list
}

// inner is what a list or a map is of, or the schema itself, and how the way into it is
// written.
func (d *openAPI) inner(s *schema) (of *schema, suffix string) {
	r := d.resolve(s)
	switch {
	case r.Items != nil:
		of, suffix = d.inner(r.Items)
		return of, "[]" + suffix
	case len(r.Properties) == 0 && r.others() != nil:
		of, suffix = d.inner(r.others())
		return of, ".*" + suffix
	}
	return s, "."
}

// others is the schema of the members that have no name of their own; nil: there are none.
func (s *schema) others() *schema {
	var of schema
	if len(s.Others) == 0 || s.Others[0] != '{' || json.Unmarshal(s.Others, &of) != nil {
		return nil
	}
	return &of
}

// base is the name of an object without what marks the answer to a write, which has the id
// of the request beside the same members.
func base(name string) string { return strings.TrimSuffix(name, "Answer") }

func (d *openAPI) field(name string, s *schema, required bool) Field {
	r := d.resolve(s)
	f := Field{Name: name, Type: d.typeOf(s), Required: required, Description: s.Description, Limits: limits(r)}
	if f.Description == "" && s.Ref == "" {
		f.Description = r.Description
	}
	for _, value := range r.Enum {
		f.Values = append(f.Values, fmt.Sprint(value))
	}
	if r.Default != nil {
		f.Default = fmt.Sprint(r.Default)
	}
	return f
}

// typeOf is a schema's type in words.
func (d *openAPI) typeOf(s *schema) string {
	r := d.resolve(s)
	var list []string
	for _, t := range r.Type {
		switch {
		case t == "null":
			continue
		case t == "array" && r.Items != nil:
			t = "list of " + plural(d.typeOf(r.Items))
		case t == "object" && len(r.Properties) == 0 && r.others() != nil:
			if t = "map"; len(d.resolve(r.others()).Type) > 0 {
				t = "map of " + plural(d.typeOf(r.others()))
			}
		case t == "string" && r.Format == "date-time":
			t = "time"
		case t == "string" && (r.ContentEncoding == "base64"):
			t = "base64"
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return "any JSON"
	}
	return strings.Join(list, " or ")
}

func plural(t string) string {
	switch t {
	case "any JSON", "base64":
		return t
	}
	first, rest, _ := strings.Cut(t, " ")
	return strings.TrimSpace(first + "s " + rest)
}

// limits are a schema's bounds in words.
func limits(s *schema) (list []string) {
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		list = append(list, number(s.Minimum)+" to "+number(s.Maximum))
	case s.Minimum != nil:
		list = append(list, "at least "+number(s.Minimum))
	case s.Maximum != nil:
		list = append(list, "at most "+number(s.Maximum))
	}
	if s.MaxLength != nil {
		list = append(list, fmt.Sprintf("up to %d characters", *s.MaxLength))
	}
	switch {
	case s.MinItems != nil && s.MaxItems != nil:
		list = append(list, fmt.Sprintf("%d to %d items", *s.MinItems, *s.MaxItems))
	case s.MinItems != nil:
		list = append(list, fmt.Sprintf("at least %d items", *s.MinItems))
	case s.MaxItems != nil:
		list = append(list, fmt.Sprintf("up to %d items", *s.MaxItems))
	}
	return list
}
