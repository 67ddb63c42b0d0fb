package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// diagnosis is what an examiner finds in a document that does not have its shape:
// every field that is wrong, and where its value is, so that the rest can be read.
type diagnosis struct {
	*reading
	cuts []span
}

// span is a part of a document.
type span struct{ from, to int }

// maxCuts is how many bad values are cut out of a document. The rest of one that has
// more is not worth a look.
const maxCuts = 1000

// value reads a value and judges it. One that does not have its shape is read to its
// end as well, as anything.
func (d *diagnosis) value(e *examiner, s *shape, c byte, depth int) error {
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
func (s *shape) takes(c byte) bool {
	switch s.form {
	case listing:
		return c == '['
	case dictionary, record:
		return c == '{'
	}
	return true
}

func (s *shape) words() string {
	if s.form == listing {
		return "a list"
	}
	return "an object"
}

// judge asks the decoder for its opinion of a value.
func (s *shape) judge(raw []byte) (constraint, message string) {
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
	if d.void = d.void || depth == 0 || len(d.cuts) == maxCuts; !d.void {
		d.cuts = append(d.cuts, at)
	}
}

// unknown notes a member that the shape does not have.
func (d *diagnosis) unknown(e *examiner, s *shape, depth int) {
	d.note(func() fault.FieldError {
		var known []string // none of which is suggested where much else is wrong
		if !d.brief() {
			known = slices.Sorted(maps.Keys(s.members))
		}
		return unknown("field", e.where(depth+1), string(e.path[depth].name), known)
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
