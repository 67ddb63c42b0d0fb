package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoup-dev/recoup/examples/renderdb/api"
	"github.com/recoup-dev/recoup/fault"
)

// refused wants an error of a code, in the shape of spec 001, and returns its
// details.
func (s *service) refused(code string, r request) map[string]any {
	s.t.Helper()
	out := s.send(r)
	if got := checkEnvelope(s.t, s, out); string(got) != code {
		s.t.Fatalf("%s answers %s, want %s", r.line, out.Body, code)
	}
	details, _ := members(s.t, out.Body.Bytes())["details"].(map[string]any)
	return details
}

// A slot is taken by force, or once it is free; the same person may ask twice,
// and belongs to the company from then on.
func TestSlotChangesHands(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	slot := "SL-" + s.company("acme") + "-CEO"
	ann, bob := s.person(""), s.person("")
	fill := func(person, more string) request {
		return request{line: "PUT /slots/" + slot, body: `{"person_uid": "` + person + `"` + more + `}`}
	}
	s.must(fill(ann, "").line, fill(ann, "").body)
	s.must(fill(ann, "").line, fill(ann, "").body)
	s.refused("SLOT_CONFLICT", fill(bob, ""))
	if got := s.must("PUT /slots/"+slot, fill(bob, `, "force_reassign": true`).body); got["previous_occupant"] != ann {
		t.Errorf("taken by force: %v", got)
	}
	s.refused("SLOT_CONFLICT", fill(ann, ""))
	s.must("DELETE /slots/"+slot, "")
	s.must("PUT /slots/"+slot, fill(ann, "").body)

	slots, _ := s.must("GET /companies/"+strings.TrimSuffix(strings.TrimPrefix(slot, "SL-"), "-CEO"), "")["slots"].(map[string]any)
	if len(slots) != 3 || slots[slot] != ann {
		t.Errorf("the company's slots are %v", slots)
	}
	s.refused("BUSINESS_RULE_VIOLATION", request{line: "PUT /slots/SL-" + s.company("other") + "-CEO", body: fill(ann, "").body})
}

// A refused request changes nothing: the numbers go on where they were.
func TestRefusedRequestsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.company("acme")
	s.refused("DUPLICATE_RECORD", request{line: "POST /companies", body: `{"name": "Acme", "website": "http://ACME.example/about"}`})
	s.failures.Switch(api.Verifier, true)
	s.refused("VALIDATION_SERVICE_ERROR", request{line: "POST /people", body: `{"name": "Ann", "email": "ann@example.com"}`})
	s.must("POST /people", `{"name": "Ann", "email": "ann@example.com", "verifier": "zerobounce"}`)
	if person, company := s.must("POST /people", `{"name": "Bob", "email": "bob@example.com", "verifier": "zerobounce"}`)["person_uid"], s.company("other"); person != "PE-20240828-000002" || company != "CO-20240828-000002" {
		t.Errorf("the second person is %v, the second company %v", person, company)
	}
}

// What the form of a request can get wrong, beside the codes of spec 001.
func TestOtherRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	slot := "/slots/SL-" + s.company("acme") + "-"
	person := `{"person_uid": "` + s.person("") + `"}`
	for _, test := range []struct {
		code string
		request
	}{
		{"PAYLOAD_TOO_LARGE", request{line: "POST /companies", body: `"` + strings.Repeat("x", 64<<10) + `"`}},
		{"PAYLOAD_TOO_LARGE", request{line: "POST /companies", body: `"` + strings.Repeat("x", 64<<10) + `"`, headers: map[string]string{"Idempotency-Key": "k"}}},
		{"SCHEMA_INVALID", request{line: "POST /companies", body: `{"name": 7}`}},
		{"UNSUPPORTED_CONTENT_TYPE", request{line: "POST /companies", body: acme, headers: map[string]string{"Content-Type": ""}}},
		{"INVALID_API_KEY", request{line: "POST /companies", body: acme, headers: map[string]string{"Authorization": ""}}},
		{"VALIDATION_ERROR", request{line: "GET /companies/acme"}},
		{"VALIDATION_ERROR", request{line: "DELETE /slots/CEO"}},
		{"VALIDATION_ERROR", request{line: "POST /people", body: `{"name": "Ann", "email": "ann@example.com", "verifier": "guess"}`}},
		{"COMPANY_NOT_FOUND", request{line: "GET /companies/CO-20240828-000009"}},
		{"PERSON_NOT_FOUND", request{line: "PUT " + slot + "CEO", body: `{"person_uid": "PE-20240828-000009"}`}},
		{"SLOT_NOT_FOUND", request{line: "PUT " + slot + "CTO", body: person}},
		{"SLOT_NOT_FOUND", request{line: "DELETE " + slot + "CTO"}},
		{"NOT_FOUND", request{line: "GET /nothing"}},
		{"NOT_FOUND", request{line: "PATCH /companies"}},
		{"NOT_FOUND", request{line: "GET /errors/NOBODY_KNOWS"}},
		{"INSUFFICIENT_PERMISSIONS", request{line: "PUT /admin/failures/database"}},
	} {
		s.refused(test.code, test.request)
	}
}

// Failures are switched from the machine itself, by a path of their own that
// no failure blocks.
func TestFailuresAreSwitchedOnLoopback(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	admin := func(method, path, peer string) *httptest.ResponseRecorder {
		r, out := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
		r.RemoteAddr = peer
		s.handler.ServeHTTP(out, r)
		return out
	}
	for _, name := range api.AllFailures() {
		if out := admin("PUT", "/admin/failures/"+string(name), "127.0.0.1:5000"); out.Code != http.StatusNoContent || !s.failures.On(name) {
			t.Errorf("%s cannot be switched on: %d %s", name, out.Code, out.Body)
		}
	}
	if on := members(t, admin("GET", "/admin/failures", "[::1]:5000").Body.Bytes()); len(on) != len(api.AllFailures()) || on["database"] != "2024-08-28T15:30:00Z" {
		t.Errorf("switched on: %v", on)
	}
	if out := admin("DELETE", "/admin/failures/database", "127.0.0.1:5000"); out.Code != http.StatusNoContent || s.failures.On(api.Database) {
		t.Errorf("database cannot be switched off: %d %s", out.Code, out.Body)
	}
	for _, peer := range []string{"192.0.2.1:5000", "@", ""} {
		if out := admin("PUT", "/admin/failures/database", peer); out.Code != http.StatusForbidden || s.failures.On(api.Database) {
			t.Errorf("switched by %q: %d", peer, out.Code)
		}
	}
	if out := admin("PUT", "/admin/failures/printer", "127.0.0.1:5000"); checkEnvelope(t, s, out) != fault.CodeValidationError {
		t.Errorf("an unknown failure: %s", out.Body)
	}
}

// Maintenance ends by itself, limits with their window.
func TestTimeHeals(t *testing.T) {
	t.Parallel()
	s := start(t, limits(api.Limits{PerMinute: 1, PerDay: 3, InFlight: 1, Verifications: 1}))
	s.failures.Switch(api.Maintenance, true)
	s.set(t, "2024-08-28T17:29:59Z")
	s.refused("TEMPORARY_UNAVAILABLE", request{line: "POST /people", body: `{}`})
	s.set(t, "2024-08-28T17:30:00Z")
	s.person("")
	s.refused("RATE_LIMIT_EXCEEDED", request{line: "POST /people", body: `{}`})
	s.set(t, "2024-08-28T17:31:00Z")
	s.person("")
	s.set(t, "2024-08-28T17:32:00Z")
	s.person("")
	s.set(t, "2024-08-28T17:33:00Z")
	s.refused("QUOTA_EXCEEDED", request{line: "POST /people", body: `{}`})
	s.set(t, "2024-08-29T00:00:00Z")
	s.person("")
}

// blocking is an external service that keeps the first question until the test
// lets it answer.
type blocking struct {
	busy          atomic.Bool
	asked, answer chan struct{}
}

func (b *blocking) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.busy.CompareAndSwap(false, true) {
		close(b.asked)
		<-b.answer
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// While one request waits for the verifier, the next finds every place taken.
func TestPlacesAreLimited(t *testing.T) {
	t.Parallel()
	ann := request{line: "POST /people", body: `{"name": "Ann", "email": "ann@example.com"}`, headers: map[string]string{"Idempotency-Key": "ann"}}
	bob := request{line: "POST /people", body: `{"name": "Bob", "email": "bob@example.com"}`}
	for _, test := range []struct {
		limits api.Limits
		next   request
		code   string
	}{
		{api.Limits{PerMinute: 9, PerDay: 9, InFlight: 1, Verifications: 1}, bob, "SERVICE_OVERLOADED"},
		{api.Limits{PerMinute: 9, PerDay: 9, InFlight: 2, Verifications: 1}, bob, "VALIDATION_QUEUE_FULL"},
		{api.Limits{PerMinute: 9, PerDay: 9, InFlight: 2, Verifications: 2}, ann, "IDEMPOTENCY_CONFLICT"},
	} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			verifier := &blocking{asked: make(chan struct{}), answer: make(chan struct{})}
			s := start(t, func(o *api.Options) { o.Limits, o.Transport = test.limits, verifier })
			first := make(chan int)
			go func() { first <- s.send(ann).Code }()
			<-verifier.asked
			details := s.refused(test.code, test.next)
			if same, found := details["same_payload"]; found && same != true {
				t.Errorf("the details are %v", details)
			}
			close(verifier.answer)
			if status := <-first; status != http.StatusCreated {
				t.Errorf("the first request is answered with %d", status)
			}
			if out := s.send(bob); out.Code != http.StatusCreated {
				t.Errorf("once there is room: %d %s", out.Code, out.Body)
			}
		})
	}
}
