package httpapi

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/suggest"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// binder fills a struct from a request: fields tagged path and query from there,
// the field Body from JSON.
type binder struct {
	params []param
	body   int // index of the field Body, or -1
	shape  *Shape
	rules  Rules // of the body
}

// param is a parameter: its place in the struct, and the rules that its tags
// state, which the documentation repeats.
type param struct {
	index    []int
	name     string
	path     bool
	required bool
	rule     rule
}

// Instead is implemented by inputs that say, by name, what to do instead of members that
// their body does not have.
type Instead interface{ Instead() map[string]string }

func newBinder(t reflect.Type) binder {
	b := binder{body: -1}
	b.collect(t, nil)
	if in, ok := reflect.Zero(t).Interface().(Instead); ok {
		b.shape.instead = in.Instead()
	}
	return b
}

func (b *binder) collect(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		switch {
		case f.Tag.Get("path") != "":
			b.params = append(b.params, newParam(f, index, f.Tag.Get("path"), true))
		case f.Tag.Get("query") != "":
			b.params = append(b.params, newParam(f, index, f.Tag.Get("query"), false))
		case f.Name == "Body" && len(at) == 0:
			b.body, b.shape, b.rules = i, shapeOf(f.Type), rulesOf(f.Type)
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			b.collect(f.Type, index)
		}
	}
}

func newParam(f reflect.StructField, index []int, name string, path bool) param {
	return param{index: index, name: name, path: path, required: path || f.Tag.Get("required") == "true", rule: ruleOf(f.Tag)}
}

// read fills in. What is wrong with the request is reported all at once: its parameters,
// the shape of its body, the rules of its fields and, where something is wrong, what
// the route's own check says of the rest.
func (b *binder) read(c *Call, in reflect.Value) error {
	var r Reading
	if err := b.readParams(c, in, &r); err != nil {
		return err
	}
	if c.route.Info.Repeat == RepeatKeyed {
		if _, err := c.idempotency(); err != nil && !r.Found.Merge(err) {
			return err
		}
	}
	if err := b.readBody(c, in, &r); err != nil {
		if r.Found.Len() == 0 {
			return err
		}
		if !r.Found.Merge(err) {
			r.Found.Addf("body", "json", "%s", fault.From(err).Message)
		}
		return c.WithValues(r.Found.Err())
	}
	if r.Found.Len() > 0 && !r.Void {
		if err := c.checkRest(in.Addr().Interface(), &r.Found); err != nil {
			return err
		}
	}
	return c.WithValues(r.Found.Err())
}

func (b *binder) readParams(c *Call, in reflect.Value, r *Reading) error {
	query, err := ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	for i := range b.params {
		p := &b.params[i]
		values := query[p.name]
		if p.path {
			values = []string{c.Request.PathValue(p.name)}
		}
		delete(query, p.name)
		if constraint, message := p.set(in.FieldByIndex(p.index), values); constraint != "" {
			bad := fault.FieldError{Field: p.name, Constraint: constraint, Message: p.name + " " + message}
			if len(values) == 1 && values[0] != "" {
				bad.Value, bad.Safe = shownText(p.name, values[0])
			}
			r.Found.Add(bad)
		}
	}
	if len(query) == 0 {
		return nil
	}
	var known []string
	for _, p := range b.params {
		if !p.path {
			known = append(known, p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		r.note(func() fault.FieldError { return unknown("parameter", shownName(name), name, known) })
	}
	return nil
}

// maxParams is the most parameters of a query. No operation takes half as many.
const maxParams = 100

// ParseQuery reads a query string. One with too many parameters is refused before it costs
// anything: also a caller without a key can send one.
func ParseQuery(text string) (url.Values, error) {
	if text == "" {
		return nil, nil
	}
	if n := strings.Count(text, "&") + 1; n > maxParams {
		return nil, fault.BadField("query", "max_items", "the query string has %d parameters; at most %d are allowed", n, maxParams)
	}
	query, err := url.ParseQuery(text)
	if err != nil {
		return nil, fault.BadField("query", "encoding", "the query string is not properly encoded")
	}
	return query, nil
}

func (b *binder) readBody(c *Call, in reflect.Value, r *Reading) error {
	if b.body < 0 || c.route.mayLack && len(c.Body) == 0 {
		return nil
	}
	body := in.Field(b.body)
	if err := Decode(c, b.shape, body.Addr().Interface(), r); err != nil {
		return err
	}
	if r.Void {
		return nil
	}
	return turn.Each(c.Context(), 1, func(int) error {
		r.Found.Merge(CheckRules(b.rules, body))
		return nil
	})
}

// unknown says that there is no field or parameter of a name, and which was probably
// meant.
func unknown(what, field, name string, known []string) fault.FieldError {
	message := "there is no " + what + " " + field
	if near := suggest.Words(name, known, min(2, len(name)/2)); len(near) > 0 {
		message += "; did you mean " + near[0] + "?"
	}
	return fault.FieldError{Field: field, Constraint: "unknown", Message: message}
}

// set reads a parameter into its field, or says which rule it breaks, and how.
func (p *param) set(v reflect.Value, values []string) (constraint, broken string) {
	if len(values) > 1 {
		return "unique", "must be given once"
	}
	if len(values) == 0 || values[0] == "" {
		if p.required {
			return "required", "is required"
		}
		return "", ""
	}
	s := values[0]
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "format", "must be valid UTF-8 without NUL"
	}
	if err := setText(v, s); err != nil {
		return "format", err.Error()
	}
	if t, isTime := v.Interface().(time.Time); isTime && t.Year() <= 1 {
		return "range", ourDays
	}
	return p.rule.broken(v)
}

// setText reads text into a field.
func setText(v reflect.Value, s string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(s)); err != nil {
			if _, isTime := v.Interface().(time.Time); isTime {
				return errors.New("must be a time such as 2026-02-05T15:04:05Z")
			}
			return errors.New("must be an id: a UUID or a ULID")
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		there := reflect.New(v.Type().Elem())
		if err := setText(there.Elem(), s); err != nil {
			return err
		}
		v.Set(there)
	case reflect.String:
		v.SetString(s)
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("must be a whole number")
		}
		v.SetInt(int64(n))
	case reflect.Bool:
		yes, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("must be true or false")
		}
		v.SetBool(yes)
	default:
		return fmt.Errorf("cannot be read into %s", v.Type())
	}
	return nil
}
