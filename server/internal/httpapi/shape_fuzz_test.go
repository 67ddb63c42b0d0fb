package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// contractual fails unless an error is one of the contract that a caller caused.
func contractual(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Definition().HTTPStatus < 400 || e.Definition().HTTPStatus >= 500 || e.Message == "" {
		t.Fatalf("got %v", err)
	}
}

// FuzzReport: whatever passes the look at its shape and can be read is taken by the
// strictest reading of encoding/json too, with the same result; and the look never
// takes JSON for something else.
func FuzzReport(f *testing.F) {
	for _, body := range []string{
		`{"table":"t","code":"c","details":{"limit":3}}`, `{"table":"t","table":"u"}`, `{"Table":"t"}`, `{"t\u0061ble":"t"}`, `{"proven":["same_payload"]}`,
		`{"details":{"a":{"b":[[],{}]}}}`, `{"retry_after":1e3}`, ` { } `, `{"":1}`, `{"table":"\ud800"}`, `[{"table":1}]`, `{"table":null}`, "{\"table\":\"\x7f\"}", `{"a"1}`, `{"table":"x"`,
	} {
		f.Add([]byte(body))
	}
	shape := reflect.TypeFor[recoup.Report]()
	f.Fuzz(func(t *testing.T, body []byte) {
		if broken := (&examiner{b: body}).examine(shapeOf(shape)) == errBroken; broken && json.Valid(body) {
			t.Fatalf("%q is JSON, and was taken for none", body)
		}
		if err := ReadWhole(shapeOf(shape), body, reflect.New(shape).Interface(), nil); err != nil {
			contractual(t, err)
			return
		}
		var plain, strict recoup.Report
		if json.Unmarshal(body, &plain) != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&strict); err != nil || !reflect.DeepEqual(plain, strict) {
			t.Fatalf("%q passed and is not strictly a report: %v", body, err)
		}
	})
}
