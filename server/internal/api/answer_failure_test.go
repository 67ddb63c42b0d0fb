package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What no route is there for, and what is no request, is refused in the contract
// too, in either form.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	report := recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}
	for name, row := range map[string]struct {
		method, path string
		body         any
		headers      []string
		status       int
		code         recoup.Code
	}{
		"no such address":       {"GET", "/v2/errors", nil, nil, 404, fault.CodeNotFound},
		"no such error":         {"GET", "/v1/errors/019c1d94-8a80-7000-9a83-b105619023d7", nil, nil, 404, fault.CodeNotFound},
		"no such key":           {"POST", "/v1/keys/019c1d94-8a80-7000-9a83-b105619023d7/rotate", object{}, nil, 404, fault.CodeNotFound},
		"no such code":          {"GET", "/v1/codes/NO_SUCH_CODE", nil, nil, 404, fault.CodeNotFound},
		"no page of a code":     {"GET", "/errors/NO_SUCH_CODE", nil, nil, 404, fault.CodeNotFound},
		"another method":        {"DELETE", "/v1/errors", nil, nil, 405, fault.CodeMethodNotAllowed},
		"a method of one's own": {"BREW", "/v1/policy", nil, nil, 405, fault.CodeMethodNotAllowed},
		"no id":                 {"GET", "/v1/errors/latest", nil, nil, 400, fault.CodeValidationError},
		"too large":             {"POST", "/v1/errors", strings.Repeat(" ", httpapi.SmallBody+1), nil, 413, fault.CodePayloadTooLarge},
		"a form":                {"POST", "/v1/errors", "table=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, fault.CodeUnsupportedContentType},
		"plain text":            {"POST", "/v1/errors", report, []string{"Content-Type", "text/plain"}, 415, fault.CodeUnsupportedContentType},
		"another charset":       {"POST", "/v1/errors", report, []string{"Content-Type", "application/json; charset=latin1"}, 415, fault.CodeUnsupportedContentType},
		"no media type":         {"POST", "/v1/errors", report, []string{"Content-Type", ";;"}, 415, fault.CodeUnsupportedContentType},
		"events as a form":      {"POST", "/v1/events", "x", []string{"Content-Type", "text/csv"}, 415, fault.CodeUnsupportedContentType},
		"compressed":            {"POST", "/v1/errors", report, []string{"Content-Encoding", "gzip"}, 415, fault.CodeUnsupportedContentType},
		"empty":                 {"POST", "/v1/errors", "", nil, 400, fault.CodeMalformedJSON},
		"half":                  {"POST", "/v1/errors", `{"table":`, nil, 400, fault.CodeMalformedJSON},
		"two values":            {"POST", "/v1/errors", `{} {}`, nil, 400, fault.CodeMalformedJSON},
		"a list":                {"POST", "/v1/errors", `[]`, nil, 400, fault.CodeValidationError},
		"no entity":             {"GET", "/v1/promotion/%20", nil, nil, 400, fault.CodeValidationError},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			got := w.do("admin", row.method, row.path, row.body, row.headers...)
			got.failed(row.status, row.code)
			if row.status == 405 && got.Header().Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			problem := w.do("admin", row.method, row.path, row.body, append(row.headers, "Accept", "application/problem+json")...)
			var p fault.Problem
			decodeInto(t, problem.Body.Bytes(), &p)
			if problem.Header().Get("Content-Type") != fault.MediaProblem || p.Status != row.status || p.Type != "http://example.com/errors/"+string(row.code) || p.Title == "" {
				t.Errorf("the problem is %s", problem.Body)
			}
		})
	}
}

// away is a store whose database cannot be reached.
type away struct {
	app.Store
	err error
}

func (s *away) Report(context.Context, time.Time, []store.Report) ([]store.Outcome, error) {
	return nil, s.err
}
func (s *away) Ping(context.Context) error { return s.err }
func (s *away) Blocking(context.Context, []string, int) ([][]store.Blocker, error) {
	return nil, s.err
}

// A database that is away is answered as such, with a time to come back, and without
// a word of its address.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err  error
		code recoup.Code
	}{
		"no connection": {fault.OnAcquire(errors.New("dial tcp 10.0.0.7:5432: user=recoup password=hunter2")), fault.CodeDatabaseConnectionError},
		"busy":          {store.ErrBusy, fault.CodeDatabaseBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, wrapped(func(s app.Store) app.Store { return &away{s, row.err} }))
			for _, got := range []*answer{
				w.do("ingest", http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}),
				w.do("operator", http.MethodGet, "/v1/promotion/CO-1", nil),
			} {
				if e := got.failed(http.StatusServiceUnavailable, row.code); e.RetryAfter <= 0 || strings.Contains(got.Body.String(), "10.0.0.7") {
					t.Errorf("got %s", got.Body)
				}
			}
			w.do("", http.MethodGet, "/readyz", nil).failed(http.StatusServiceUnavailable, fault.CodeDatabaseConnectionError)
			w.do("", http.MethodGet, "/healthz", nil).ok()
		})
	}
}

// An item of a batch fails in the same shape as a whole request.
func TestItemFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out recoup.ReportedBatch
	got := w.post("/v1/errors/batch", recoup.ReportBatch{Reports: []recoup.Report{{Table: "", Code: "not a code"}}}).ok(&out)
	var e struct {
		Code      string          `json:"error_code"`
		Message   string          `json:"message"`
		RequestID string          `json:"request_id"`
		Details   json.RawMessage `json:"details"`
	}
	decodeInto(t, out.Items[0].Failure, &e)
	if e.Code != "VALIDATION_ERROR" || e.Message == "" || e.RequestID != got.Header().Get(fault.RequestIDHeader) || !strings.Contains(string(e.Details), `"total_errors":2`) {
		t.Errorf("the item is %s", out.Items[0].Failure)
	}
}
