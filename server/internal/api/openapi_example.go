package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/fault"
)

// illustrated adds to the bad fields of a VALIDATION_ERROR what the request has as
// their values, without secrets and short. Those who check a request need not do so
// themselves.
func (c *call) illustrated(err error) error { return c.illustratedBy(err, c.parsed) }

// illustratedBy is [call.illustrated] of a part of the request that is a document of its
// own, such as a line.
func (c *call) illustratedBy(err error, document func() any) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError || len(e.Fields()) == 0 {
		return err
	}
	list := slices.Clone(e.Fields())
	query, body := c.r.URL.Query(), document()
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

// parsed is the body if it is one document of JSON and small enough to be read for its
// values. It is read once, however many items of it are refused.
func (c *call) parsed() any {
	if c.document == nil && len(c.body) <= smallBody {
		c.document = parse(c.body)
	}
	return c.document
}

// parse reads one document of JSON for its values; nil: it is none.
func parse(text []byte) (document any) {
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
