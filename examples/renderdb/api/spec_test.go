package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/examples/renderdb/api"
	"github.com/recoup-dev/recoup/fault"
)

// row is a response: the file that it has to fit, and how to provoke it.
type row struct {
	name   string
	id     string // sent as X-Request-Id, if any
	change func(*api.Options)
	before func(*service)
	request
}

const acme = `{"name": "Acme", "website": "https://acme.example"}`

// examples are the JSON examples of spec 001, in its order, with its ids, times
// and values. The success response comes last.
func examples() []row {
	return []row{
		{name: "invalid_api_key", id: "req_auth_001", request: request{line: "GET /companies/CO-20240828-000001", key: "rdb_guess"}},
		{name: "api_key_expired", id: "req_auth_002", request: request{line: "GET /companies/CO-20240828-000001", key: expired}},
		{name: "validation_error", id: "req_val_001", request: request{line: "POST /people",
			body: `{"name": "Ann", "email": "invalid-email", "company_uid": "INVALID-123"}`}},
		{name: "company_not_found", id: "req_biz_001", request: request{line: "POST /people",
			body: `{"name": "Ann", "email": "ann@example.com", "company_uid": "CO-20240828-999999"}`}},
		{name: "slot_conflict", id: "req_biz_002", before: fillCEO, request: request{line: "PUT /slots/SL-CO-20240828-000001-CEO",
			body: `{"person_uid": "PE-20240828-000001"}`}},
		{name: "temporary_unavailable", id: "req_temp_001", before: inMaintenance, request: request{line: "GET /companies/CO-20240828-000001"}},
		{name: "database_connection_error", id: "req_db_001", before: failing(api.Database), request: request{line: "POST /companies", body: acme}},
		{name: "validation_service_error", id: "req_ext_001", before: failing(api.Verifier), request: request{line: "POST /people",
			body: `{"name": "Ann", "email": "ann@example.com"}`}},
		{name: "validation_error_complete", id: "req_val_error_001", request: request{line: "POST /companies",
			body: `{"name": "", "website": "not-a-url"}`}},
		{name: "success", id: "req_success_001", request: request{line: "POST /companies", body: acme}},
	}
}

// codes are the responses of the codes that spec 001 names without an example.
func codes() []row {
	return []row{
		{name: "insufficient_permissions", request: request{line: "POST /companies", key: reader, body: acme}},
		{name: "malformed_json", request: request{line: "POST /companies", body: `{"name": "Acme"`}},
		{name: "unsupported_content_type", request: request{line: "POST /companies", body: "name=Acme",
			headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}},
		{name: "duplicate_record", before: created, request: request{line: "POST /companies", body: acme,
			headers: map[string]string{"Idempotency-Key": "another"}}},
		{name: "business_rule_violation", before: otherCompany, request: request{line: "PUT /slots/SL-CO-20240828-000001-CEO",
			body: `{"person_uid": "PE-20240828-000001"}`}},
		{name: "idempotency_conflict", before: created, request: request{line: "POST /companies", body: `{"name": "Other", "website": "https://other.example"}`,
			headers: map[string]string{"Idempotency-Key": "first"}}},
		{name: "rate_limit_exceeded", change: limits(api.Limits{PerMinute: 1, PerDay: 5, InFlight: 1}), before: created, request: request{line: "POST /companies", body: acme}},
		{name: "quota_exceeded", change: limits(api.Limits{PerMinute: 5, PerDay: 1, InFlight: 1}), before: created, request: request{line: "POST /companies", body: acme}},
		{name: "service_overloaded", before: failing(api.Overload), request: request{line: "POST /companies", body: acme}},
		{name: "validation_queue_full", before: failing(api.Queue), request: request{line: "POST /people", body: `{"name": "Ann", "email": "ann@example.com"}`}},
		{name: "external_service_timeout", before: both(created, failing(api.Scraper)), request: request{line: "POST /companies/CO-20240828-000001/scrape"}},
		{name: "data_unavailable", before: func(s *service) { s.company("empty") }, request: request{line: "POST /companies/CO-20240828-000001/scrape"}},
	}
}

// TestResponsesOfSpec001 compares each response field by field.
func TestResponsesOfSpec001(t *testing.T) {
	t.Parallel()
	for _, row := range slices.Concat(examples(), codes()) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, row.change)
			if row.before != nil {
				row.before(s)
			}
			if row.id != "" {
				row.headers = map[string]string{fault.RequestIDHeader: row.id}
			}
			out := s.send(row.request)
			expect(t, row.name).check(t, out)
			if row.name == "success" {
				return
			}
			if code := checkEnvelope(t, s, out); !strings.HasPrefix(row.name, strings.ToLower(string(code))) {
				t.Errorf("the code is %s", code)
			}
		})
	}
}

// TestEveryCodeOfSpec001 wants a row for every code that the specification
// names, but for the two that no server can send: they are what a caller
// observes when no answer comes.
func TestEveryCodeOfSpec001(t *testing.T) {
	t.Parallel()
	observed := []recoup.Code{fault.CodeNetworkTimeout, fault.CodeConnectionReset}
	for _, def := range fault.Default().All() {
		if !strings.HasPrefix(def.Origin, "spec 001,") || slices.Contains(observed, def.Code) {
			continue
		}
		if !slices.ContainsFunc(slices.Concat(examples(), codes()), func(r row) bool { return strings.EqualFold(r.name, string(def.Code)) }) {
			t.Errorf("no response shows %s", def.Code)
		}
	}
}

func failing(f api.Failure) func(*service) {
	return func(s *service) { s.failures.Switch(f, true) }
}

func limits(l api.Limits) func(*api.Options) {
	return func(o *api.Options) { o.Limits = l }
}

func both(first, second func(*service)) func(*service) {
	return func(s *service) { first(s); second(s) }
}

// created leaves the company of [acme] behind, under an idempotency key.
func created(s *service) {
	s.send(request{line: "POST /companies", body: acme, headers: map[string]string{"Idempotency-Key": "first"}})
}

// otherCompany leaves two companies behind, and a person of the second.
func otherCompany(s *service) {
	s.company("acme")
	s.person(s.company("other"))
}

// inMaintenance is one hour into the maintenance window of spec 001.
func inMaintenance(s *service) {
	s.set(s.t, "2024-08-28T02:00:00Z")
	s.failures.Switch(api.Maintenance, true)
	s.set(s.t, "2024-08-28T03:00:00Z")
}

// fillCEO puts the person number 123 of an earlier day into the slot of spec
// 001's conflict, and leaves another person behind who wants it.
func fillCEO(s *service) {
	s.set(s.t, "2024-08-01T09:00:00Z")
	var occupant string
	for range 123 {
		occupant = s.person("")
	}
	s.set(s.t, "2024-08-28T15:30:00Z")
	s.must("PUT /slots/SL-"+s.company("acme")+"-CEO", `{"person_uid": "`+occupant+`"}`)
	s.person("")
}
