package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
)

// reading is a document on its way into a Go value. All that is wrong with it is
// found, so that one answer lists it.
type reading struct {
	at      string // where the document is in the request: events[3]; empty: it is the body
	unknown *int   // counts members that are unknown; nil: they are wrong
	found   fault.FieldErrors
	listed  *int // counts what the items of one request have listed; nil: it is no item of many
	void    bool // nothing could be read: it is not of the shape at all, or hardly
}

// read reads a document as one JSON value of the shape. It is strict: what would be
// ignored or silently changed is wrong. What is wrong with a field is found, and into
// has the others; an error is about the document as a whole.
func (r *reading) read(s *shape, document []byte, into any) error {
	if len(bytes.TrimSpace(document)) == 0 {
		return fault.New(fault.CodeMalformedJSON, "The body is empty: send a JSON object.")
	}
	if !utf8.Valid(document) {
		return fault.New(fault.CodeMalformedJSON, "The body is not valid UTF-8.")
	}
	var counted int
	if r.unknown != nil {
		counted = *r.unknown
	}
	err := (&examiner{b: document, at: r.at, unknown: r.unknown}).examine(s)
	if _, said := errors.AsType[*fault.Error](err); said {
		return err
	}
	if err == nil && !isNull(document) && json.Unmarshal(document, into) == nil {
		return nil
	}
	if r.unknown != nil {
		*r.unknown = counted // the diagnosis counts again
	}
	reflect.ValueOf(into).Elem().SetZero() // half of it may have been read
	return r.diagnose(s, document, into)
}

// note adds what is wrong. Where no more is listed it is only counted: a request may be full of it.
func (r *reading) note(bad func() fault.FieldError) {
	if r.found.Full() || r.brief() && r.found.Len() > 0 {
		r.found.AddUnlisted()
		return
	}
	r.found.Add(bad())
	if r.listed != nil {
		*r.listed++
	}
}

// brief reports whether the items of a request have listed so much that each of the others names
// only the first thing that is wrong with it.
func (r *reading) brief() bool { return r.listed != nil && *r.listed >= fault.MaxFieldErrors }

// isNull reports whether a document is null, which the decoder takes for an empty
// object.
func isNull(document []byte) bool { return string(bytes.TrimSpace(document)) == "null" }

// diagnose finds all that is wrong with a document, and reads the rest.
func (r *reading) diagnose(s *shape, document []byte, into any) error {
	if err := json.Unmarshal(document, new(json.RawMessage)); err != nil {
		return malformed(err)
	}
	d := diagnosis{reading: r}
	e := examiner{b: document, at: r.at, unknown: r.unknown, diagnosis: &d}
	switch err := e.examine(s); {
	case errors.Is(err, errBroken):
		return malformed(err)
	case err != nil: // it is too deep or too long
		return err
	}
	if isNull(document) {
		r.void = true
		r.found.Addf(e.where(0), "type", "must be an object, not null")
		return nil
	}
	if r.void {
		return nil
	}
	if err := json.Unmarshal(d.rest(document), into); err != nil { // what only the whole can show
		r.found.Addf(e.where(0), "format", "one of the values has the wrong form")
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

// readWhole reads a document that is refused as a whole.
func readWhole(s *shape, document []byte, into any, unknown *int) error {
	r := reading{unknown: unknown}
	if err := r.read(s, document, into); err != nil {
		return err
	}
	return r.found.Err()
}

// Read reads a document as a request's body of that type is read: strictly, and held
// to the rules of its fields.
func Read(document []byte, into any) error {
	t := reflect.TypeOf(into).Elem()
	var r reading
	if err := r.read(shapeOf(t), document, into); err != nil {
		return err
	}
	r.found.Merge(checkRules(rulesOf(t), reflect.ValueOf(into).Elem()))
	return r.found.Err()
}
