package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"
)

// The members, their order and their types are those of spec 001, Base Error
// Structure.
func TestErrorShape(t *testing.T) {
	e := New("MACHINE_READABLE_CODE", "What happened.").
		With("field", "problematic_field").With("value", "invalid_value").With("constraint", "validation_rule").
		After(60 * time.Second)
	e.RequestID = "req_unique_identifier"
	e.Timestamp = time.Date(2024, 8, 28, 15, 30, 0, 0, time.UTC)
	e.DocumentationURL = "https://docs.example.com/errors/MACHINE_READABLE_CODE"
	const want = `{"error_code":"MACHINE_READABLE_CODE","message":"What happened.",` +
		`"details":{"constraint":"validation_rule","field":"problematic_field","value":"invalid_value"},` +
		`"request_id":"req_unique_identifier","timestamp":"2024-08-28T15:30:00Z","retry_after":60,` +
		`"documentation_url":"https://docs.example.com/errors/MACHINE_READABLE_CODE"}`
	wantJSON(t, e, want)

	var back Error
	if err := json.Unmarshal([]byte(want), &back); err != nil {
		t.Fatal(err)
	}
	if back.Code != e.Code || back.Message != e.Message || back.RequestID != e.RequestID || !back.Timestamp.Equal(e.Timestamp) ||
		back.RetryAfter != e.RetryAfter || back.DocumentationURL != e.DocumentationURL || back.Details["field"] != "problematic_field" {
		t.Errorf("read back as %+v", back)
	}
}

// Only the required members of spec 001 are always there.
func TestErrorShapeWithoutOptionalMembers(t *testing.T) {
	wantJSON(t, New("TIMEOUT", "Late."), `{"error_code":"TIMEOUT","message":"Late.","request_id":""}`)
}

// The complete response of spec 001: every bad field, and how many there are.
func TestValidationShape(t *testing.T) {
	e := Validation(
		FieldError{Field: "name", Value: "", Safe: true, Constraint: "required", Message: "A name is needed."},
		FieldError{Field: "website", Value: "not-a-url", Safe: true, Constraint: "format", Message: "A URL is needed."},
	)
	e.RequestID = "req_val_error_001"
	wantJSON(t, e, `{"error_code":"VALIDATION_ERROR","message":"The request has 2 invalid fields.","details":{"errors":[`+
		`{"field":"name","value":"","constraint":"required","message":"A name is needed."},`+
		`{"field":"website","value":"not-a-url","constraint":"format","message":"A URL is needed."}],`+
		`"total_errors":2},"request_id":"req_val_error_001"}`)
}

// A problem carries the members of RFC 9457 and all those of spec 001.
func TestProblemShape(t *testing.T) {
	e := New(CodeRateLimitExceeded, "Slow down.").With("limit", 100).After(1500 * time.Millisecond)
	e.RequestID = "req_1"
	e.DocumentationURL = "/errors/RATE_LIMIT_EXCEEDED"
	wantJSON(t, e.Problem("/v1/events"), `{"type":"/errors/RATE_LIMIT_EXCEEDED","title":"Rate limit exceeded","status":429,`+
		`"detail":"Slow down.","instance":"/v1/events","error_code":"RATE_LIMIT_EXCEEDED","message":"Slow down.",`+
		`"details":{"limit":100},"request_id":"req_1","retry_after":2,"documentation_url":"/errors/RATE_LIMIT_EXCEEDED"}`)
	if p := New(CodeTimeout, "x").Problem(""); p.Type != "about:blank" {
		t.Errorf("without documentation the type is %q", p.Type)
	}
}

func TestUnmarshalRefusesCode(t *testing.T) {
	for _, in := range []string{`{"message":"x"}`, `{"error_code":"not a code"}`, `{"error_code":7}`} {
		if err := json.Unmarshal([]byte(in), new(Error)); err == nil {
			t.Errorf("%s is accepted", in)
		}
	}
}

// The same numbers that [Decode] understands, rounded up as there.
func TestUnmarshalRetryAfter(t *testing.T) {
	for number, want := range map[string]time.Duration{
		"60": time.Minute, "1.5": 2 * time.Second, "0.001": time.Second, "-5": 0, "1e300": 1<<31*time.Second - time.Second,
	} {
		body := `{"error_code":"TIMEOUT","retry_after":` + number + `}`
		var e Error
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.RetryAfter != want {
			t.Errorf("%s: %v, %v; want %v", number, e.RetryAfter, err, want)
		}
		if got := Decode(response503(body)).RetryAfter; got != want {
			t.Errorf("%s: decoded as %v, want %v", number, got, want)
		}
	}
	if err := json.Unmarshal([]byte(`{"error_code":"TIMEOUT","retry_after":"soon"}`), new(Error)); err == nil {
		t.Error("a word is taken for a number")
	}
}

func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("import: %w", Wrap(fs.ErrNotExist, CodeArtifactNotFound, "The input is gone."))
	if !errors.Is(err, New(CodeArtifactNotFound, "")) {
		t.Error("not found by its code")
	}
	if errors.Is(err, New(CodeNotFound, "")) {
		t.Error("found by another code")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if got := err.Error(); got != "import: ARTIFACT_NOT_FOUND: The input is gone.: file does not exist" {
		t.Error(got)
	}
}

func TestCauseStaysOffTheWire(t *testing.T) {
	e := Wrap(errors.New("password=hunter2"), CodeDatabaseError, "The database refused the statement.")
	for _, v := range []any{e, e.Problem("/")} {
		data, err := json.Marshal(v)
		if err != nil || bytes.Contains(data, []byte("hunter2")) {
			t.Errorf("%s, %v", data, err)
		}
	}
}

func TestCopiesAreIndependent(t *testing.T) {
	base := New(CodeTimeout, "x").With("a", 1)
	next := base.With("b", 2).After(time.Second)
	if len(base.Details) != 1 || base.RetryAfter != 0 {
		t.Errorf("the original changed: %+v", base)
	}
	if len(next.Details) != 2 || next.RetryAfter != time.Second {
		t.Errorf("the copy lacks something: %+v", next)
	}
}

func TestRetryable(t *testing.T) {
	for _, row := range []struct {
		e                *Error
		unproven, proven bool
	}{
		{New(CodeNetworkTimeout, ""), true, true},
		{New(CodeValidationError, ""), false, false},
		{New(CodeSlotConflict, ""), false, true},
		{New("NEVER_HEARD_OF", ""), true, true},
	} {
		if got := row.e.Retryable(false); got != row.unproven {
			t.Errorf("%s unproven: %t", row.e.Code, got)
		}
		if got := row.e.Retryable(true); got != row.proven {
			t.Errorf("%s proven: %t", row.e.Code, got)
		}
	}
}

// A secret cannot be recognised by its look: only the author of the check knows.
func TestValidationRepeatsOnlySafeValues(t *testing.T) {
	for _, row := range []struct {
		field string
		value any
	}{
		{"pwd", "hunter2"}, {"otp", "123456"}, {"q", "AKIAIOSFODNN7EXAMPLE"}, {"number", "4111111111111111"},
		{"number", 4111111111111111}, {"tax_id", "123-45-6789"}, {"q", "sk-live-abcd1234efgh5678ijkl"},
		{"x", "xoxb-123456789012-abcdefghij1234"}, {"name", ""}, {"age", -1}, {"active", true}, {"tags", nil},
	} {
		for _, safe := range []bool{false, true} {
			e := Validation(FieldError{Field: row.field, Value: row.value, Safe: safe})
			want := row.value
			if !safe {
				want = nil
			}
			if got := e.Fields()[0].Value; got != want {
				t.Errorf("%s %v, safe %t: repeated as %v", row.field, row.value, safe, got)
			}
		}
	}
}

func wantJSON(t *testing.T, v any, want string) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil || string(data) != want {
		t.Errorf("got  %s, %v\nwant %s", data, err, want)
	}
}

func TestFieldErrorsMerge(t *testing.T) {
	var found FieldErrors
	if found.Err() != nil {
		t.Error("nothing was added, and it is an error")
	}
	found.Add(FieldError{Field: "items[1]", Constraint: "type", Message: "m"})
	merged := found.Merge(Validation(
		FieldError{Field: "items[1].name", Constraint: "required"}, // within what is wrong already
		FieldError{Field: "items[1]", Constraint: "required"},
		FieldError{Field: "items[10]", Constraint: "required", Value: 3, Safe: true},
		FieldError{Field: "items[10]", Constraint: "enum"},
	))
	if merged = merged && !found.Merge(errors.New("other")) && !found.Merge(nil); !merged || found.Len() != 3 {
		t.Errorf("%d were found", found.Len())
	}
	e := From(found.Err())
	if f := e.Fields(); len(f) != 3 || f[1].Field != "items[10]" || f[1].Value != 3 || f[2].Constraint != "enum" {
		t.Errorf("the fields are %+v", f)
	}
}

func TestFieldErrorsAreBounded(t *testing.T) {
	fields := make([]FieldError, 3*MaxFieldErrors)
	e := Validation(fields...)
	if len(e.Fields()) != MaxFieldErrors || e.Details["total_errors"] != len(fields) {
		t.Errorf("%d listed of %v", len(e.Fields()), e.Details["total_errors"])
	}
}
