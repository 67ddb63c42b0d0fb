package fault

import (
	"math"
	"reflect"

	"github.com/recoup-dev/recoup"
)

// maxDetail is the longest text that an event keeps, in bytes.
const maxDetail = 128

// eventDetails returns what an event may say of a failure: the keys of spec
// 003, each with its own type, and nothing that is free text.
func eventDetails(e *Error) map[string]any {
	details := map[string]any{"retryable": e.Retryable(false)}
	keep := func(key string, value any, ok bool) {
		if ok {
			details[key] = value
		}
	}
	own, ok := e.Details["retryable"].(bool) // a handler knows more than the code
	keep("retryable", own, ok)
	for _, key := range []string{"limit", "window_sec"} {
		n, ok := wholeNumber(e.Details[key])
		keep(key, n, ok)
	}
	for _, key := range []string{"field", "expected_etag"} {
		s, ok := e.Details[key].(string)
		keep(key, s, ok && len(s) <= maxDetail)
	}
	id, ok := idText(e.Details["existing_id"])
	keep("existing_id", id, ok)
	if fields := e.Fields(); len(fields) > 0 {
		keep("field", fields[0].Field, len(fields[0].Field) <= maxDetail)
	}
	return details
}

// wholeNumber accepts every type of number that a handler or JSON may use.
func wholeNumber(value any) (int64, bool) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), v.Uint() <= math.MaxInt64
	case v.CanFloat():
		f := v.Float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	return 0, false
}

// idText accepts an id and the text of one.
func idText(value any) (string, bool) {
	switch id := value.(type) {
	case recoup.ID:
		return id.String(), !id.IsZero()
	case string:
		parsed, err := recoup.ParseID(id)
		return parsed.String(), err == nil
	}
	return "", false
}
