package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/examples/renderdb/api"
	"github.com/recoup-dev/recoup/fault"
)

// The same request under the same key is answered in the same words and done
// once; one that failed may be sent again.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	post := request{line: "POST /companies", body: acme, headers: map[string]string{"Idempotency-Key": "k1"}}
	s.failures.Switch(api.Database, true)
	s.refused("DATABASE_CONNECTION_ERROR", post)
	s.failures.Switch(api.Database, false)

	first := s.send(post)
	s.set(t, "2024-08-28T16:00:00Z")
	again := s.send(post)
	if first.Code != http.StatusCreated || again.Code != first.Code || again.Body.String() != first.Body.String() {
		t.Errorf("first %d %s, again %d %s", first.Code, first.Body, again.Code, again.Body)
	}
	s.refused("IDEMPOTENCY_CONFLICT", request{line: post.line, body: `{}`, headers: post.headers})
	s.refused("DUPLICATE_RECORD", request{line: post.line, body: acme})

	// The same word of another account, or for another endpoint, is another key.
	s.refused("DUPLICATE_RECORD", request{line: post.line, body: acme, headers: post.headers, key: second})
	s.refused("VALIDATION_ERROR", request{line: "POST /people", body: `{}`, headers: post.headers})
}

// A client that asks for RFC 9457 gets it, with the members of spec 001.
func TestProblem(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	out := s.send(request{line: "GET /companies/CO-20240828-000009", headers: map[string]string{"Accept": fault.MediaProblem}})
	got := members(t, out.Body.Bytes())
	if out.Header().Get("Content-Type") != fault.MediaProblem || got["type"] != documentation+"COMPANY_NOT_FOUND" ||
		got["status"] != 404.0 || got["instance"] != "/companies/CO-20240828-000009" || got["error_code"] != "COMPANY_NOT_FOUND" {
		t.Errorf("the problem is %s", out.Body)
	}
}

// Every code that the service can send has a page, its own codes too.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, code := range []string{"SLOT_CONFLICT", "rate_limited", "PERSON_NOT_FOUND", "SLOT_NOT_FOUND"} {
		if page := s.must("GET /errors/"+code, ""); page["description"] == nil || page["resolution"] == nil {
			t.Errorf("the page of %s is %v", code, page)
		}
	}
}

// The log and the events know what spec 001 wants to be known of a failure; the
// cause stays in the log, and the key, the address and the record nowhere.
func TestFailuresAreReported(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.failures.Switch(api.Database, true)
	out := s.send(request{line: "POST /people", body: `{"name": "Ann", "email": "ann@secret.example", "company_uid": "CO-20240828-000001"}`,
		headers: map[string]string{"User-Agent": "ingest/1.0", "X-Request-Source": "ingest-repo", fault.RequestIDHeader: "req_log_001"}})
	if strings.Contains(out.Body.String(), "dial") {
		t.Errorf("the cause reaches the caller: %s", out.Body)
	}
	entry := members(t, s.logs.Bytes())
	if cause, _ := entry["error"].(string); entry["code"] != "DATABASE_CONNECTION_ERROR" || !strings.Contains(cause, "dial tcp") {
		t.Errorf("logged: %v", entry)
	}
	context, _ := entry["context"].(map[string]any)
	for name, want := range map[string]any{
		"request_id": "req_log_001", "user_agent": "ingest/1.0", "api_version": "v1", "endpoint": "POST /people",
		"timestamp": "2024-08-28T15:30:00Z", "server_id": "renderdb-1", "database_shard": "neon_primary",
		"api_key_id": "rdb_…0000", "account_id": "acme", "request_source": "ingest-repo",
	} {
		if context[name] != want {
			t.Errorf("context: %s is %v, want %v", name, context[name], want)
		}
	}
	for _, secret := range []string{writer, "ann@secret.example"} {
		if strings.Contains(s.logs.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
	if len(s.events) != 1 || s.events[0].Code != fault.CodeDatabaseConnectionError || s.events[0].Service != "renderdb" || s.events[0].HTTPStatus != 503 {
		t.Errorf("events: %+v", s.events)
	}
}

// A service names the external one that failed it.
func TestExternalServiceIsNamed(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.failures.Switch(api.Verifier, true)
	s.refused("VALIDATION_SERVICE_ERROR", request{line: "POST /people", body: `{"name": "Ann", "email": "ann@example.com"}`})
	if len(s.events) != 1 || s.events[0].ExternalService != "millionverifier" {
		t.Errorf("events: %+v", s.events)
	}
}

func TestNewNeedsAClock(t *testing.T) {
	t.Parallel()
	if _, err := api.New(api.Options{}); err == nil {
		t.Error("a service without a clock starts")
	}
}
