package fault_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// createCompany returns its failures; fault.HandlerFunc writes them.
func createCompany(w http.ResponseWriter, r *http.Request) error {
	var in struct{ Name, Website string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return fault.Wrap(err, fault.CodeMalformedJSON, "The body is not valid JSON.")
	}
	var bad []fault.FieldError
	if in.Name == "" {
		bad = append(bad, fault.FieldError{Field: "name", Value: in.Name, Safe: true, Constraint: "required", Message: "A company needs a name."})
	}
	if !strings.HasPrefix(in.Website, "https://") {
		bad = append(bad, fault.FieldError{Field: "website", Value: in.Website, Safe: true, Constraint: "format", Message: "Expected a URL."})
	}
	if len(bad) > 0 {
		return fault.Validation(bad...)
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// A handler that returns a validation error, behind the middleware.
func ExampleNewMiddleware() {
	middleware, err := fault.NewMiddleware(fault.Options{
		Service: "renderdb",
		Now:     func() time.Time { return time.Date(2026, 2, 2, 9, 30, 0, 0, time.UTC) }, // time.Now
		Random:  rand.Reader,
		Emit:    func(e recoup.Event) { fmt.Println("event:", e.Code, e.Endpoint, e.Details) },
		Count:   func(r fault.Request) { fmt.Println("count:", r.Status) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("POST /companies", fault.HandlerFunc(createCompany))

	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/companies", strings.NewReader(`{"website": "not-a-url"}`))
	r.Header.Set("X-Request-Id", "req_val_error_001")
	middleware(mux).ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output:
	// event: VALIDATION_ERROR POST /companies map[field:name retryable:false]
	// count: 400
	// 400 {"error_code":"VALIDATION_ERROR","message":"The request has 2 invalid fields.","details":{"errors":[{"field":"name","value":"","constraint":"required","message":"A company needs a name."},{"field":"website","value":"not-a-url","constraint":"format","message":"Expected a URL."}],"total_errors":2},"request_id":"req_val_error_001","timestamp":"2026-02-02T09:30:00Z","documentation_url":"/errors/VALIDATION_ERROR"}
}

// A client decides by the code, not by the status.
func ExampleDecode() {
	server := httptest.NewServer(fault.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.CodeRateLimitExceeded, "Too many requests.").With("limit", 100).After(time.Minute)
	}))
	defer server.Close()

	resp, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if e := fault.Decode(resp); e != nil {
		fmt.Println(e.Code, e.Details["limit"], e.Retryable(false), e.RetryAfter)
	}
	// Output: RATE_LIMIT_EXCEEDED 100 true 1m0s
}

func ExampleRegistry_Fold() {
	for _, s := range []string{"rate_limited", "NETWORK_TIMEOUT", "printer_on_fire"} {
		def, name, err := fault.Default().Fold(s)
		fmt.Println(name, def.Code, def.Class, err)
	}
	// Output:
	// RATE_LIMIT_EXCEEDED RATE_LIMIT_EXCEEDED long_delay <nil>
	// NETWORK_TIMEOUT NETWORK_TIMEOUT immediate <nil>
	// PRINTER_ON_FIRE UNREGISTERED_CODE short_delay <nil>
}

// A program adds codes of its own.
func ExampleRegistry_With() {
	registry, err := fault.Default().With(fault.Definition{
		Code: "PRINTER_ON_FIRE", Domain: "runtime", Class: recoup.ClassFatal,
		Category: recoup.Operational, Severity: recoup.Critical, HTTPStatus: 500,
		Description: "The printer burns.",
		Causes:      []string{"A paper jam in the fuser."},
		Resolution:  []string{"Leave the building."},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	def, _ := registry.Lookup("PRINTER_ON_FIRE")
	fmt.Println(def.Description, def.Retryable(false))
	// Output: The printer burns. false
}

func ExampleWrap() {
	cause := errors.New("dial tcp 10.0.0.7:5432: connection refused")
	err := fault.Wrap(cause, fault.CodeDatabaseConnectionError, "The database is not reachable.")
	fmt.Println(errors.Is(err, cause), errors.Is(err, fault.New(fault.CodeDatabaseConnectionError, "")))
	body, _ := json.Marshal(err)
	fmt.Println(string(body))
	// Output:
	// true true
	// {"error_code":"DATABASE_CONNECTION_ERROR","message":"The database is not reachable.","request_id":""}
}

// A handler maps what its database said; the caller sees a code of the contract.
func ExampleFrom() {
	// What a pool returns when no connection became free in time.
	err := fault.From(fault.OnAcquire(context.DeadlineExceeded))
	body, _ := json.Marshal(err)
	fmt.Println(string(body))
	// Output:
	// {"error_code":"DATABASE_CONNECTION_ERROR","message":"The database could not be reached, or had no connection left to give. Nothing was sent to it.","details":{"error_type":"pool_exhausted"},"request_id":""}
}

// The bad fields reach the client one by one.
func ExampleValidation() {
	err := fault.Validation(
		fault.FieldError{Field: "age", Value: -3, Safe: true, Constraint: "minimum", Message: "An age is not negative."},
		fault.FieldError{Field: "password", Value: "hunter2", Constraint: "length", Message: "Too short."},
	)
	body, _ := json.MarshalIndent(err.Details, "", "  ")
	fmt.Println(string(body))
	// Output:
	// {
	//   "errors": [
	//     {
	//       "field": "age",
	//       "value": -3,
	//       "constraint": "minimum",
	//       "message": "An age is not negative."
	//     },
	//     {
	//       "field": "password",
	//       "constraint": "length",
	//       "message": "Too short."
	//     }
	//   ],
	//   "total_errors": 2
	// }
}
