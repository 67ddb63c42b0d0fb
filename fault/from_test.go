package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

func reader(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// Spec 001, Neon Database Error Mapping: the caller gets a generic code, and of
// the database's own words only its SQLSTATE.
func TestFrom(t *testing.T) {
	busy := fault.New(fault.CodeRateLimitExceeded, "Slow down.").With("limit", 5).After(time.Minute)
	upstream := fault.Decode(&http.Response{StatusCode: 401, Header: http.Header{}, Body: reader(`{"error_code":"INVALID_API_KEY","message":"jane"}`)})
	for name, row := range map[string]struct {
		err     error
		code    recoup.Code
		details string
	}{
		"pool exhausted":      {fault.OnAcquire(context.DeadlineExceeded), fault.CodeDatabaseConnectionError, "map[error_type:pool_exhausted]"},
		"duplicate":           {sqlError("23505"), fault.CodeDuplicateWrite, "map[error_type:unique_violation sqlstate:23505]"},
		"rolled back":         {fmt.Errorf("tx: %w", sqlError("40001")), fault.CodeTransactionConflict, "map[error_type:serialization_failure sqlstate:40001]"},
		"commit broke":        {fault.OnCommit(io.ErrUnexpectedEOF), fault.CodeOutcomeUnknown, "map[]"},
		"a contract error":    {fmt.Errorf("x: %w", busy), fault.CodeRateLimitExceeded, "map[limit:5]"},
		"one lost in COMMIT":  {fault.OnCommit(busy), fault.CodeOutcomeUnknown, "map[]"},
		"of another service":  {upstream, fault.CodeExternalServiceError, "map[]"},
		"nothing is known":    {errors.New("jane"), fault.CodeInternalError, "map[]"},
		"the caller has gone": {context.Canceled, fault.CodeRequestCancelled, "map[]"},
	} {
		e := fault.From(row.err)
		if e.Code != row.code || fmt.Sprint(e.Details) != row.details || e.Message == "" {
			t.Errorf("%s: %+v, want %s %s", name, e, row.code, row.details)
		}
		if !errors.Is(e, row.err) && !errors.Is(row.err, fault.New(row.code, "")) {
			t.Errorf("%s: the cause is lost: %v", name, e)
		}
		if body, err := json.Marshal(e); err != nil || strings.Contains(string(body), "jane") {
			t.Errorf("%s leaks: %s, %v", name, body, err)
		}
	}
	if got := fault.From(busy); got.Message != "Slow down." || got.RetryAfter != time.Minute {
		t.Errorf("an error of the contract lost its words: %+v", got)
	}
	if fault.From(nil) != nil {
		t.Error("a success became a failure")
	}
}

func TestFromUsesItsRegistry(t *testing.T) {
	reg := ownRegistry(t)
	if e := reg.From(fault.New("PAYMENT_DECLINED", "No.")); e.Retryable(true) || e.Definition().HTTPStatus != 422 {
		t.Errorf("%+v", e)
	}
}

// What a verdict knows reaches the caller in the program's own words.
func TestVerdictWrap(t *testing.T) {
	cause := errors.New("jane")
	v := provider(t, "millionverifier").ClassifyResponse(503, http.Header{"Retry-After": {"300"}}, nil, noon, nil)
	e := v.Wrap(cause, "Addresses cannot be checked %s.", "now")
	if e.Code != fault.CodeValidationServiceError || e.Message != "Addresses cannot be checked now." || e.RetryAfter != 5*time.Minute ||
		e.Details["fallback_provider"] != "zerobounce" || !errors.Is(e, cause) {
		t.Errorf("%+v", e)
	}
	e.Details["fallback_provider"] = "changed"
	if v.Details["fallback_provider"] != "zerobounce" {
		t.Error("a change of the error reached the verdict")
	}
}

// Mapping is explicit: an error that nobody mapped stays INTERNAL_ERROR.
func TestWriteMapsNothing(t *testing.T) {
	w := httptest.NewRecorder()
	fault.Write(w, httptest.NewRequest("GET", "/", nil), sqlError("23505"))
	if !strings.Contains(w.Body.String(), "INTERNAL_ERROR") {
		t.Error(w.Body)
	}
	w = httptest.NewRecorder()
	fault.Write(w, httptest.NewRequest("GET", "/", nil), fault.From(sqlError("23505")))
	if w.Code != 409 || !strings.Contains(w.Body.String(), "DUPLICATE_WRITE") {
		t.Error(w.Code, w.Body)
	}
}
