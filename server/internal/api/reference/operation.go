package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Operation is one call as its page shows it.
type Operation struct {
	ID, Method, Path string
	Summary, About   string
	Roles            []string
	Place            []Field
	Query, Header    []Field
	Body             *Body
	Answer           Answer
	Errors           []Code
	Curl             string
	Area             *Area

	position int
	doc      *operation
}

// Body is what a call takes.
type Body struct {
	Required bool
	Media    []string // that it takes beside JSON
	Limit    string
	Forms    []string // of which it may be one; none: an object
	Fields   []Field
}

// Answer is what a call returns when it succeeds.
type Answer struct {
	Status  int
	Text    string
	Object  string // that the page describes for itself; empty: the fields are here
	Fields  []Field
	Example string

	schema *schema
}

// Object is what several calls of a page return, described once.
type Object struct {
	Name   string
	Fields []Field
}

// operation makes what a page shows of one call, but for its answer's fields, which depend
// on what else is on the page.
func (d *openAPI) operation(method, path string, op *operation) (*Operation, error) {
	o := &Operation{
		ID: op.ID, Method: method, Path: path, Summary: op.Summary, About: op.Description,
		Roles: op.Roles, Errors: codesOf(op.Errors), position: op.Position, doc: op,
	}
	for _, p := range op.Parameters {
		f := d.field(p.Name, p.Schema, p.Required)
		f.Description = p.Description
		switch p.In {
		case "path":
			o.Place = append(o.Place, f)
		case "query":
			o.Query = append(o.Query, f)
		case "header":
			o.Header = append(o.Header, f)
		default:
			return nil, fmt.Errorf("a parameter in the %s", p.In)
		}
	}
	if op.RequestBody != nil {
		o.Body = d.body(op)
	}
	for status, answer := range op.Responses {
		n, err := strconv.Atoi(status)
		if err != nil { // the default: what all calls have in common
			continue
		}
		content := answer.Content["application/json"]
		o.Answer = Answer{Status: n, Text: http.StatusText(n), Example: indented(content.Example, ""), schema: content.Schema}
	}
	o.Curl = curl(o, op)
	return o, nil
}

func (d *openAPI) body(op *operation) *Body {
	b := &Body{Required: op.RequestBody.Required, Limit: size(op.MaxBody)}
	for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
		if media != "application/json" {
			b.Media = append(b.Media, media)
		}
	}
	s := op.RequestBody.Content["application/json"].Schema
	for _, form := range s.OneOf {
		b.Forms = append(b.Forms, d.typeOf(form))
		s = form // the last one has the others in it
	}
	b.Fields = d.fields(s, "", nil)
	return b
}

// complete adds to an area's calls what they answer: an object that only one of them
// returns is described there, and one that several return, once for all of them.
func (d *openAPI) complete(a *Area) {
	uses := map[string]int{}
	for _, o := range a.Operations {
		for name := range d.reached(o.Answer.schema, map[string]bool{}) {
			uses[name]++
		}
	}
	shared := func(name string) bool { return uses[name] > 1 }
	for _, o := range a.Operations {
		if o.Answer.schema == nil {
			continue
		}
		if name := base(o.Answer.schema.name()); shared(name) {
			o.Answer.Object = name
			continue
		}
		o.Answer.Fields = given(d.fields(o.Answer.schema, "", shared))
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if shared(name) {
			s := d.Components.Schemas[name]
			if s == nil {
				s = d.Components.Schemas[name+"Answer"]
			}
			a.Objects = append(a.Objects, Object{name, given(d.fields(s, "", shared))})
		}
	}
}

// given are fields of an answer, of which nothing is demanded.
func given(list []Field) []Field {
	for i := range list {
		list[i].Required = false
	}
	return list
}

// reached collects the objects that a schema consists of.
func (d *openAPI) reached(s *schema, found map[string]bool) map[string]bool {
	if s == nil {
		return found
	}
	r := d.resolve(s)
	if name := base(s.name()); name != "" && len(r.Properties) > 0 {
		if found[name] {
			return found
		}
		found[name] = true
	}
	for _, member := range r.Properties {
		d.reached(member, found)
	}
	d.reached(r.Items, found)
	d.reached(r.others(), found)
	return found
}

// indented is JSON for people; nothing of nothing.
func indented(raw json.RawMessage, prefix string) string {
	var out bytes.Buffer
	if len(raw) == 0 || json.Indent(&out, raw, prefix, "  ") != nil {
		return ""
	}
	return out.String()
}

// size is a number of bytes for people.
func size(n int64) string {
	if n >= 1<<20 {
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n>>10, 10) + " KiB"
}

// words are what a search finds a call by.
func (o *Operation) words() string {
	list := []string{o.ID, o.Method, o.Path, o.Summary, o.About, o.Area.Name, strings.Join(o.Roles, " ")}
	for _, fields := range [][]Field{o.Place, o.Query, o.Header, o.Answer.Fields} {
		for _, f := range fields {
			list = append(list, f.words())
		}
	}
	if o.Body != nil {
		for _, f := range o.Body.Fields {
			list = append(list, f.words())
		}
	}
	for _, c := range o.Errors {
		list = append(list, c.Name)
	}
	return strings.ToLower(strings.Join(list, " "))
}
