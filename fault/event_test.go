package fault

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
)

// An event keeps the keys of spec 003, each only with its own type.
func TestEventDetails(t *testing.T) {
	const id = "0198c0de-0000-7000-8000-000000000001"
	parsed, err := recoup.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 129)
	for _, row := range []struct {
		key   string
		value any
		want  any // nil: dropped
	}{
		{"field", "email", "email"},
		{"field", long[:128], long[:128]},
		{"field", long, nil},
		{"field", map[string]any{"a": "ssn 123-45-6789"}, nil},
		{"limit", 100, int64(100)},
		{"limit", 100.0, int64(100)},
		{"limit", uint8(7), int64(7)},
		{"limit", 1.5, nil},
		{"limit", 1e300, nil},
		{"limit", uint64(1 << 63), nil},
		{"limit", "sk_live_abc", nil},
		{"window_sec", int64(60), int64(60)},
		{"window_sec", true, nil},
		{"expected_etag", `"abc"`, `"abc"`},
		{"expected_etag", 7, nil},
		{"existing_id", id, id},
		{"existing_id", parsed, id},
		{"existing_id", "jane@example.com", nil},
		{"note", "personal", nil},
		{"retryable", true, true},
		{"retryable", "yes", false},
	} {
		b := newBench()
		b.serve(t, post(), fail(New(CodeSlotConflict, "Taken.").With(row.key, row.value)))
		want := map[string]any{"retryable": false}
		if row.want != nil {
			want[row.key] = row.want
		}
		if got := b.events[0].Details; !maps.Equal(got, want) {
			t.Errorf("%s %T: %v, want %v", row.key, row.value, got, want)
		}
	}
	b := newBench()
	b.serve(t, post(), fail(Validation(FieldError{Field: long})))
	if got := b.events[0].Details; !maps.Equal(got, map[string]any{"retryable": false}) {
		t.Errorf("a field of %d bytes: %v", len(long), got)
	}
}

// A crash is a bug whatever was written before it: the caller is told as little
// as ever, and the operator all.
func TestPanicIsABug(t *testing.T) {
	b := newBench()
	w := b.serve(t, post(), func(http.ResponseWriter, *http.Request) { panic("boom") })
	if body := decodeMap(t, w); body["error_code"] != "INTERNAL_ERROR" || strings.Contains(w.Body.String(), "RUNTIME") {
		t.Errorf("body %s", w.Body)
	}
	if e := b.events[0]; e.Code != CodeRuntimeBug || e.HTTPStatus != 500 || fmt.Sprint(e.Details) != "map[retryable:false]" {
		t.Errorf("event %+v", e)
	}
	if b.counted[0].Code != CodeRuntimeBug {
		t.Errorf("counted %+v", b.counted[0])
	}

	b = newBench()
	func() {
		defer func() { _ = recover() }() // the connection is aborted
		b.serve(t, post(), func(w http.ResponseWriter, r *http.Request) {
			Write(w, r, New(CodeValidationError, "Mend it."))
			panic("boom")
		})
	}()
	if len(b.events) != 1 || b.events[0].Code != CodeRuntimeBug || b.events[0].HTTPStatus != 400 {
		t.Errorf("events %+v", b.events)
	}
	if log := b.log.String(); !strings.Contains(log, "boom") || !strings.Contains(log, "Mend it.") {
		t.Errorf("log %s", log)
	}
}

// The id of a request is that of the request, whatever an error brings along.
func TestRequestIDOfAnErrorIsReplaced(t *testing.T) {
	e := New(CodeTimeout, "Late.")
	e.RequestID = "req_of_another"
	w := newBench().serve(t, post(RequestIDHeader, "req_1"), fail(e))
	if got := decodeMap(t, w)["request_id"]; got != "req_1" {
		t.Errorf("the body has %v", got)
	}
}

func TestFirstFailureCounts(t *testing.T) {
	b := newBench()
	w := b.serve(t, post(), func(w http.ResponseWriter, r *http.Request) {
		Write(w, r, New(CodeSlotConflict, "Taken."))
		Write(w, r, New(CodeTimeout, "Late."))
	})
	if w.Code != 409 || strings.Contains(w.Body.String(), "TIMEOUT") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(b.events) != 1 || b.events[0].Code != CodeSlotConflict || b.counted[0].Code != CodeSlotConflict {
		t.Errorf("%+v, %+v", b.events, b.counted)
	}
}

// Status 101 hands the connection over: nothing may be written after it.
func TestSwitchingProtocolsIsTheAnswer(t *testing.T) {
	b := newBench()
	w := b.serve(t, post(), func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusSwitchingProtocols)
		Write(w, r, New(CodeTimeout, "Late."))
	})
	if w.Body.Len() != 0 || b.counted[0].Status != 101 || b.events[0].Code != CodeTimeout {
		t.Errorf("%s, %+v, %+v", w.Body, b.counted, b.events)
	}
}
