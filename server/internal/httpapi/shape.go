package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// maxDepth is how deeply JSON may be nested.
const maxDepth = 16

// Shape is what a Go type takes from JSON. The decoder of encoding/json is
// forgiving: it takes a name in any case, the last of two members of one name,
// and stops at the first value that it cannot take. A shape is asked before it, and
// is not.
type Shape struct {
	form    form
	members map[string]member // of a struct
	items   *Shape            // of a list, or of the members of a map
	leaf    reflect.Type      // of a value that the decoder is asked about; nil: anything will do
	length  rule              // how many items there may be
	tooMany func() error      // what more of them are answered; nil: VALIDATION_ERROR
	instead map[string]string // what to do instead of a member that there is not
}

// form is what a shape is: a value that is read as a whole, a list, or an object
// with any names or with given ones.
type form int

const (
	whole form = iota
	listing
	dictionary
	record
)

type member struct {
	index int // its bit among those that were seen
	*Shape
}

// anything takes whatever is JSON.
var anything = &Shape{}

// ShapeOf returns the shape of a type.
func ShapeOf[T any]() *Shape { return shapeOf(reflect.TypeFor[T]()) }

// shapeOf returns the shape of a type, which must not contain itself.
func shapeOf(t reflect.Type) *Shape {
	if reads[json.Unmarshaler](t) || reads[encoding.TextUnmarshaler](t) {
		return &Shape{leaf: t}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Shape{leaf: t} // base64
		}
		return &Shape{form: listing, items: shapeOf(t.Elem())}
	case reflect.Map:
		return &Shape{form: dictionary, items: shapeOf(t.Elem())}
	case reflect.Struct:
		s := &Shape{form: record, members: map[string]member{}}
		s.add(t)
		return s
	}
	return &Shape{leaf: t}
}

// reads reports whether a type decodes itself.
func reads[T any](t reflect.Type) bool { return reflect.PointerTo(t).Implements(reflect.TypeFor[T]()) }

// add adds the fields of a struct; those of structs that it embeds come after
// its own, which win.
func (s *Shape) add(t reflect.Type) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			embedded = append(embedded, f.Type)
			continue
		}
		if _, taken := s.members[name]; !taken && f.IsExported() && name != "-" && name != "" {
			s.members[name] = member{len(s.members), shapeOf(f.Type).bounded(f.Tag)}
		}
	}
	for _, t := range embedded {
		s.add(t)
	}
	if len(s.members) > maxMembers {
		panic(fmt.Sprintf("httpapi: %s has more than %d fields", t, maxMembers))
	}
}

// bounded is the shape with the bounds that a field's tags set to its length.
func (s *Shape) bounded(tag reflect.StructTag) *Shape {
	if s.items != nil {
		s.length = ruleOf(tag)
	}
	return s
}

// place is one level of the way into a document: the name of a member, or which item.
type place struct {
	name  []byte // nil: an item
	index int
}

// errBroken is what is no JSON, errUnfit what does not have the shape.
var (
	errBroken = errors.New("httpapi: not JSON")
	errUnfit  = errors.New("httpapi: not of the shape")
)

// examiner reads a document once and keeps nothing of it.
type examiner struct {
	b         []byte
	i         int
	at        string     // where the document is in the request; empty: it is the body
	unknown   *int       // counts members that are unknown; nil: they are wrong
	diagnosis *diagnosis // collects all that is wrong; nil: the first is errUnfit
	path      [maxDepth]place
	free      int // values so far of no stated shape
}

// examine compares a document with the shape. What is no JSON is left to the
// decoder, which is sure to refuse it: errBroken. So is the depth of nesting:
// MALFORMED_JSON.
func (e *examiner) examine(s *Shape) error {
	if err := e.value(s, 0); err != nil {
		return err
	}
	if e.next() != 0 {
		return errBroken
	}
	return nil
}

// where writes a place the way people do: reports[3].code. The whole is the body.
func (e *examiner) where(depth int) string {
	var text strings.Builder
	text.WriteString(e.at)
	for _, p := range e.path[:depth] {
		if p.name == nil {
			text.WriteString("[" + strconv.Itoa(p.index) + "]")
			continue
		}
		if text.Len() > 0 {
			text.WriteByte('.')
		}
		text.WriteString(shownName(string(p.name)))
	}
	if text.Len() == 0 {
		return "body"
	}
	return text.String()
}

// next returns the next byte that is not space; 0 at the end.
func (e *examiner) next() byte {
	for ; e.i < len(e.b); e.i++ {
		switch c := e.b[e.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (e *examiner) value(s *Shape, depth int) error {
	c := e.next()
	if e.diagnosis != nil {
		return e.diagnosis.value(e, s, c, depth)
	}
	begin := e.i
	if err := e.inside(s, c, depth); err != nil {
		return err
	}
	if s.leaf == timeType && yearOne(e.b[begin:e.i]) {
		return errUnfit
	}
	return nil
}

// ourDays is the message for a time of the year 0 or 1.
const ourDays = "must be a time after the year 1, such as 2026-02-05T15:04:05Z"

var timeType = reflect.TypeFor[time.Time]()

// yearOne reports whether a value is a time of the year 0 or 1. Go's time that was
// never set is the first moment of the year 1, so that one would pass for none.
func yearOne(raw []byte) bool {
	var t time.Time
	return bytes.HasPrefix(raw, []byte(`"000`)) && json.Unmarshal(raw, &t) == nil && t.Year() <= 1
}

// inside reads a value that begins with c.
func (e *examiner) inside(s *Shape, c byte, depth int) error {
	switch c {
	case '{', '[':
		if depth == maxDepth {
			return fault.New(fault.CodeMalformedJSON, "The body is nested more than %d deep.", maxDepth)
		}
		e.i++
		if c == '{' {
			return e.object(s, depth)
		}
		return e.list(s, depth)
	case '"':
		_, err := e.text()
		return err
	case 0, '}', ']', ',', ':':
		return errBroken
	}
	for e.i < len(e.b) && !strings.ContainsRune(" \t\r\n,]}", rune(e.b[e.i])) {
		e.i++
	}
	return nil
}

// text returns a string without its quotes and with its escapes.
func (e *examiner) text() ([]byte, error) {
	begin := e.i + 1
	for e.i = begin; e.i < len(e.b); e.i++ {
		switch e.b[e.i] {
		case '\\':
			e.i++
		case '"':
			e.i++
			return e.b[begin : e.i-1], nil
		}
	}
	return nil, errBroken
}

// list reads a list that is depth deep in the document.
func (e *examiner) list(s *Shape, depth int) error {
	items := s.items
	if items == nil {
		items = anything
	}
	if e.next() == ']' {
		e.i++
		return nil
	}
	for index := 0; ; index++ {
		if err := e.count(s, depth, index+1); err != nil {
			return err
		}
		e.path[depth] = place{index: index}
		if err := e.value(items, depth+1); err != nil {
			return err
		}
		if more, err := e.more(']'); !more || err != nil {
			return err
		}
	}
}

// more reads what follows an item or a member.
func (e *examiner) more(end byte) (bool, error) {
	switch e.next() {
	case ',':
		e.i++
		return true, nil
	case end:
		e.i++
		return false, nil
	}
	return false, errBroken
}

// ListOf returns the shape of a list of at most so many items. A longer one is answered with
// tooMany.
func ListOf(items *Shape, most int, tooMany func() error) *Shape {
	return &Shape{form: listing, items: items, length: rule{utmost: &most}, tooMany: tooMany}
}

// SetMember replaces the shape of a member of a struct.
func (s *Shape) SetMember(name string, to *Shape) {
	s.members[name] = member{s.members[name].index, to}
}

// The bounds of what states none. A value of JSON costs a few bytes to send and
// a hundred to keep, so it is counted before it is decoded.
const (
	maxItems = 10_000  // of a list, or members of an object of any names
	maxFree  = 200_000 // values of no stated shape in a document
)

// count refuses a list, or an object of any names, as soon as it has more items
// than it may: n is how many have begun.
func (e *examiner) count(s *Shape, depth, n int) error {
	most := maxItems
	if s.length.utmost != nil {
		most = *s.length.utmost
	}
	switch {
	case n > most && s.tooMany != nil:
		return s.tooMany()
	case n > most:
		field := e.where(depth)
		return fault.BadField(field, "items", "%s must have %s items", field, between(s.length.fewest, &most))
	}
	if s.items == nil || s.items.free() {
		if e.free++; e.free > maxFree {
			return fault.BadField("body", "items", "the body must have at most %d values in lists and details", maxFree)
		}
	}
	return nil
}

// free reports whether a shape takes whatever is JSON.
func (s *Shape) free() bool {
	return s.form == whole && (s.leaf == nil || s.leaf.Kind() == reflect.Interface)
}

// object reads an object that is depth deep in the document.
func (e *examiner) object(s *Shape, depth int) error {
	if e.next() == '}' {
		e.i++
		return nil
	}
	var seen members
	for n := 1; ; n++ {
		name, err := e.name()
		if err != nil {
			return err
		}
		if s.form != record {
			if err := e.count(s, depth, n); err != nil {
				return err
			}
		}
		e.path[depth] = place{name: name}
		inside, err := e.member(s, depth, &seen)
		if err != nil {
			return err
		}
		if err := e.value(inside, depth+1); err != nil {
			return err
		}
		if more, err := e.more('}'); !more || err != nil {
			return err
		}
	}
}

// name reads the name of a member, and the colon.
func (e *examiner) name() ([]byte, error) {
	if e.next() != '"' {
		return nil, errBroken
	}
	name, err := e.text()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		var plain string
		if json.Unmarshal([]byte(`"`+string(name)+`"`), &plain) != nil {
			return nil, errBroken
		}
		name = []byte(plain)
	}
	if e.next() != ':' {
		return nil, errBroken
	}
	e.i++
	return name, nil
}

// members are those of an object that came already, by their bits.
type members [maxMembers / 64]uint64

// maxMembers is how many fields a body may have.
const maxMembers = 128

func (m *members) add(i int) (again bool) {
	bit := uint64(1) << (i % 64)
	again = m[i/64]&bit != 0
	m[i/64] |= bit
	return again
}

// member returns the shape of what follows the name that was read last. Where any
// name will do, one that comes twice is the caller's own affair.
func (e *examiner) member(s *Shape, depth int, seen *members) (*Shape, error) {
	switch s.form {
	case dictionary:
		return s.items, nil
	case record:
	default:
		return anything, nil
	}
	known, ok := s.members[string(e.path[depth].name)]
	switch {
	case !ok && e.unknown != nil:
		*e.unknown++
		return anything, nil
	case !ok && e.diagnosis != nil:
		e.diagnosis.unknown(e, s, depth)
		return anything, nil
	case !ok:
		return nil, errUnfit
	case !seen.add(known.index):
	case e.diagnosis != nil:
		e.diagnosis.twice(e, depth+1)
	default:
		return nil, errUnfit
	}
	return known.Shape, nil
}
