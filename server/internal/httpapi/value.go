package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
)

// The bounds of what an answer repeats of a request.
const (
	maxShownName  = 64      // bytes
	maxShownValue = 80      // characters
	maxLookedAt   = 8 << 10 // bytes: longer values are not looked at, and not repeated
)

// shownName is a name of a caller's own as an answer repeats it.
func shownName(name string) string {
	switch {
	case len(name) > maxShownName:
		return fmt.Sprintf("(a name of %d bytes)", len(name))
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "(a name that cannot be shown)"
	case secretive(name) || redacted(name) != name:
		return "(a name that looks like a secret)"
	}
	return name
}

func redacted(text string) string {
	text, _ = redact.Default().String(text)
	return text
}

// shown is the value of a field as an answer repeats it: without secrets, also by the
// field's name, and short. It is false where nothing is repeated: of objects, of lists,
// and of what is too long to be looked at.
func shown(field string, raw []byte) (value any, ok bool) {
	if len(raw) == 0 || len(raw) > maxLookedAt || raw[0] == '{' || raw[0] == '[' {
		return nil, false
	}
	var text string
	if raw[0] != '"' {
		text = string(raw)
		if text == "true" || text == "false" {
			return text == "true", true
		}
		if clean := redacted(text); clean != text || !common(text) {
			return shorten(clean), true
		}
		return json.Number(text), true
	}
	if json.Unmarshal(raw, &text) != nil {
		return nil, false
	}
	return shownText(field, text)
}

// common reports whether every client can read a number.
func common(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err == nil && len(number) <= maxShownValue
}

// shownText is [shown] of a text.
func shownText(field, text string) (value any, ok bool) {
	if len(text) > maxLookedAt || secretive(text) {
		return nil, false
	}
	name := field[strings.LastIndexByte(field, '.')+1:]
	clean, _ := redact.Default().Value(map[string]any{name: text})
	members, _ := clean.(map[string]any)
	text, ok = members[name].(string)
	return shorten(text), ok
}

// shorten cuts text to as many characters as an answer repeats.
func shorten(text string) string {
	characters := 0
	for i := range text {
		if characters++; characters > maxShownValue {
			return text[:i] + "…"
		}
	}
	return text
}

// maxIgnored is how many columns an answer names.
const maxIgnored = 20

// PlainNames returns names as an answer may repeat them: at most 20, and a question mark in place
// of a name that is long or looks like a secret.
func PlainNames(names []string) (list []string) {
	for _, name := range names[:min(len(names), maxIgnored)] {
		if len(name) > 40 || secretive(name) {
			name = "?"
		}
		list = append(list, name)
	}
	return list
}

// WithValues adds to the bad fields of a VALIDATION_ERROR what the request has as
// their values, without secrets and short. Those who check a request need not do so
// themselves.
func (c *Call) WithValues(err error) error { return c.WithValuesOf(err, c.Parsed) }

// WithValuesOf is [Call.WithValues] of a part of the request that is a document of its
// own, such as a line.
func (c *Call) WithValuesOf(err error, document func() any) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError || len(e.Fields()) == 0 {
		return err
	}
	list := slices.Clone(e.Fields())
	query, body := c.Request.URL.Query(), document()
	for i := range list {
		bad := &list[i]
		if bad.Value != nil || !showsValue(bad.Constraint) {
			continue
		}
		if values := query[bad.Field]; len(values) == 1 {
			bad.Value, bad.Safe = shownText(bad.Field, values[0])
		} else if raw, err := json.Marshal(at(body, bad.Field)); err == nil && string(raw) != "null" {
			bad.Value, bad.Safe = shown(bad.Field, raw)
		}
	}
	return e.With("errors", list)
}

// showsValue reports whether a value shows how a constraint is broken.
func showsValue(constraint string) bool {
	return !slices.Contains([]string{"no_secret", "required", "unknown", "unique"}, constraint)
}

// Parsed returns the body if it is one JSON document and small enough to be read for its
// values; nil: it is not. It is read once, however many items of it are refused.
func (c *Call) Parsed() any {
	if c.document == nil && len(c.Body) <= SmallBody {
		c.document = Parse(c.Body)
	}
	return c.document
}

// Parse reads one document of JSON for its values; nil: it is none.
func Parse(text []byte) (document any) {
	if !json.Valid(text) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&document) != nil {
		return nil
	}
	return document
}

// at finds a value by its path; nil: there is none.
func at(value any, path string) any {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
