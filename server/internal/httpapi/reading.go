package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Reading is a document on its way into a Go value. All that is wrong with it is
// found, so that one answer lists it.
type Reading struct {
	At      string // where the document is in the request: events[3]; empty: it is the body
	Unknown *int   // counts members that are unknown; nil: they are wrong
	Found   fault.FieldErrors
	Listed  *int // counts what the items of one request have listed; nil: it is no item of many
	Void    bool // nothing could be read: it is not of the shape at all, or hardly
}

// read reads a document as one JSON value of the shape. It is strict: what would be
// ignored or silently changed is wrong. What is wrong with a field is found, and into
// has the others; an error is about the document as a whole.
func (r *Reading) read(s *Shape, document []byte, into any) error {
	if len(bytes.TrimSpace(document)) == 0 {
		return fault.New(fault.CodeMalformedJSON, "The body is empty: send a JSON object.")
	}
	if !utf8.Valid(document) {
		return fault.New(fault.CodeMalformedJSON, "The body is not valid UTF-8.")
	}
	var counted int
	if r.Unknown != nil {
		counted = *r.Unknown
	}
	err := (&examiner{b: document, at: r.At, unknown: r.Unknown}).examine(s)
	if _, said := errors.AsType[*fault.Error](err); said {
		return err
	}
	if err == nil && !isNull(document) && json.Unmarshal(document, into) == nil {
		return nil
	}
	if r.Unknown != nil {
		*r.Unknown = counted // the diagnosis counts again
	}
	reflect.ValueOf(into).Elem().SetZero() // half of it may have been read
	return r.diagnose(s, document, into)
}

// note adds what is wrong. Where no more is listed it is only counted: a request may be full of it.
func (r *Reading) note(bad func() fault.FieldError) {
	if r.Found.Full() || r.Brief() && r.Found.Len() > 0 {
		r.Found.AddUnlisted()
		return
	}
	r.Found.Add(bad())
	if r.Listed != nil {
		*r.Listed++
	}
}

// Brief reports whether the items of a request have listed so much that each of the others names
// only the first thing that is wrong with it.
func (r *Reading) Brief() bool { return r.Listed != nil && *r.Listed >= fault.MaxFieldErrors }

// isNull reports whether a document is null, which the decoder takes for an empty
// object.
func isNull(document []byte) bool { return string(bytes.TrimSpace(document)) == "null" }

// diagnose finds all that is wrong with a document, and reads the rest.
func (r *Reading) diagnose(s *Shape, document []byte, into any) error {
	if err := json.Unmarshal(document, new(json.RawMessage)); err != nil {
		return malformed(err)
	}
	d := diagnosis{Reading: r}
	e := examiner{b: document, at: r.At, unknown: r.Unknown, diagnosis: &d}
	switch err := e.examine(s); {
	case errors.Is(err, errBroken):
		return malformed(err)
	case err != nil: // it is too deep or too long
		return err
	}
	if isNull(document) {
		r.Void = true
		r.Found.Addf(e.where(0), "type", "must be an object, not null")
		return nil
	}
	if r.Void {
		return nil
	}
	if err := json.Unmarshal(d.rest(document), into); err != nil { // what only the whole can show
		r.Found.Addf(e.where(0), "format", "one of the values has the wrong form")
	}
	return nil
}

// malformed says where a document is no JSON.
func malformed(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fault.New(fault.CodeMalformedJSON, "The body is not JSON: it breaks at byte %d.", syntax.Offset)
	}
	return fault.New(fault.CodeMalformedJSON, "The body is not JSON.")
}

// ReadWhole reads a document that is refused as a whole.
func ReadWhole(s *Shape, document []byte, into any, unknown *int) error {
	r := Reading{Unknown: unknown}
	if err := r.read(s, document, into); err != nil {
		return err
	}
	return r.Found.Err()
}

// Read reads a document as a request's body of that type is read: strictly, and held
// to the rules of its fields.
func Read(document []byte, into any) error {
	t := reflect.TypeOf(into).Elem()
	var r Reading
	if err := r.read(shapeOf(t), document, into); err != nil {
		return err
	}
	r.Found.Merge(CheckRules(rulesOf(t), reflect.ValueOf(into).Elem()))
	return r.Found.Err()
}

// diagnosis is what an examiner finds in a document that does not have its shape:
// every field that is wrong, and where its value is, so that the rest can be read.
type diagnosis struct {
	*Reading
	cuts []span
}

// span is a part of a document.
type span struct{ from, to int }

// maxCuts is how many bad values are cut out of a document. The rest of one that has
// more is not worth a look.
const maxCuts = 1000

// value reads a value and judges it. One that does not have its shape is read to its
// end as well, as anything.
func (d *diagnosis) value(e *examiner, s *Shape, c byte, depth int) error {
	begin, wanted := e.i, s
	fits := s.takes(c)
	if !fits {
		s = anything
	}
	if err := e.inside(s, c, depth); err != nil {
		return err
	}
	raw := e.b[begin:e.i]
	switch {
	case string(raw) == "null":
		return nil
	case !fits:
		d.wrong(e, depth, span{begin, e.i}, "type", "must be "+wanted.words()+", not "+kindOf(raw))
	case s.leaf != nil:
		if constraint, message := s.judge(raw); constraint != "" {
			d.wrong(e, depth, span{begin, e.i}, constraint, message)
		}
	}
	return nil
}

// takes reports whether a value that begins with c may have the shape.
func (s *Shape) takes(c byte) bool {
	switch s.form {
	case listing:
		return c == '['
	case dictionary, record:
		return c == '{'
	}
	return true
}

func (s *Shape) words() string {
	if s.form == listing {
		return "a list"
	}
	return "an object"
}

// judge asks the decoder for its opinion of a value.
func (s *Shape) judge(raw []byte) (constraint, message string) {
	err := json.Unmarshal(raw, reflect.New(s.leaf).Interface())
	switch {
	case s.leaf == timeType && yearOne(raw):
		return "range", ourDays
	case err == nil:
		return "", ""
	}
	wrong, isType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case s.leaf == reflect.TypeFor[recoup.ID]():
		return "format", "must be an id: a UUID or a ULID"
	case s.leaf == timeType:
		return "format", "must be a time such as 2026-02-05T15:04:05Z"
	case isType && wrong.Field == "" && kindOf(raw) == aNumber && wrong.Type.Kind() != reflect.String && wrong.Type.Kind() != reflect.Bool:
		return "type", "must be " + plain(wrong.Type) + " of at most 64 bits"
	case isType && wrong.Field == "":
		return "type", "must be " + plain(wrong.Type) + ", not " + kindOf(raw)
	}
	return "format", "has the wrong form"
}

// kindOf names a JSON value by its kind.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return string(raw)
	}
	return aNumber
}

const aNumber = "a number"

// wrong notes a value that is wrong.
func (d *diagnosis) wrong(e *examiner, depth int, at span, constraint, message string) {
	d.note(func() fault.FieldError {
		field := e.where(depth)
		bad := fault.FieldError{Field: field, Constraint: constraint, Message: field + " " + message}
		bad.Value, bad.Safe = shown(field, e.b[at.from:at.to])
		return bad
	})
	if d.Void = d.Void || depth == 0 || len(d.cuts) == maxCuts; !d.Void {
		d.cuts = append(d.cuts, at)
	}
}

// unknown notes a member that the shape does not have.
func (d *diagnosis) unknown(e *examiner, s *Shape, depth int) {
	d.note(func() fault.FieldError {
		var known []string // none of which is suggested where much else is wrong
		if !d.Brief() {
			known = slices.Sorted(maps.Keys(s.members))
		}
		name := string(e.path[depth].name)
		bad := unknown("field", e.where(depth+1), name, known)
		if instead := s.instead[name]; instead != "" {
			bad.Message = "there is no field " + bad.Field + ": " + instead
		}
		return bad
	})
}

// twice notes a member that came already.
func (d *diagnosis) twice(e *examiner, depth int) {
	d.note(func() fault.FieldError {
		field := e.where(depth)
		return fault.FieldError{Field: field, Constraint: "unique", Message: field + " is there twice"}
	})
}

// rest is the document with null for what was cut out of it.
func (d *diagnosis) rest(document []byte) []byte {
	if len(d.cuts) == 0 {
		return document
	}
	slices.SortFunc(d.cuts, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	rest, at := make([]byte, 0, len(document)), 0
	for _, c := range d.cuts {
		if c.from >= at { // else it is within what was cut out
			rest = append(append(rest, document[at:c.from]...), "null"...)
			at = c.to
		}
	}
	return append(rest, document[at:]...)
}
