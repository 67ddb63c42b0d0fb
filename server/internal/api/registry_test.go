package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A code is registered, counts from then on, and can be changed by who made it;
// those that are shipped cannot.
func TestCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(code string, def fault.Definition) *answer {
		return w.do("admin", http.MethodPut, "/v1/codes/"+code, def)
	}
	def := ownCode("QUOTA_OF_MOON")
	def.Description = "Ask ada@example.com."
	var stored fault.Definition
	put("quota_of_moon", def).ok(&stored)
	if stored.Code != "QUOTA_OF_MOON" || strings.Contains(stored.Description, "ada@") {
		t.Errorf("stored %+v", stored)
	}
	if e := w.report(dol, "CO-1", func(r *recoup.Report) { r.Code = "quota_of_moon" }); e.Class != recoup.ClassFatal || e.State != recoup.Parked {
		t.Errorf("it counts as %s, %s", e.Class, e.State)
	}
	def.Class, def.Description = recoup.ClassImmediate, "The moon is full."
	put("QUOTA_OF_MOON", def).ok()
	w.get("/v1/codes/QUOTA_OF_MOON").ok(&stored)
	if stored.Class != recoup.ClassImmediate || stored.Description != def.Description {
		t.Errorf("changed to %+v", stored)
	}
	if e := w.report(dol, "CO-2", func(r *recoup.Report) { r.Code = "QUOTA_OF_MOON" }); e.State != recoup.RetryPending {
		t.Errorf("it counts as %s", e.State)
	}

	put("TIMEOUT", ownCode("TIMEOUT")).failed(http.StatusUnprocessableEntity, fault.CodeBusinessRuleViolation)
	put("RATE_LIMITED", ownCode("RATE_LIMITED")).failed(http.StatusUnprocessableEntity, fault.CodeBusinessRuleViolation) // an alias
	put("OTHER", ownCode("QUOTA_OF_MOON")).invalid("code", "match")
	put("not%20a%20code", ownCode("")).invalid("code", "pattern")
	for name, change := range map[string]func(*fault.Definition){
		"class":       func(d *fault.Definition) { d.Class = "soon" },
		"http_status": func(d *fault.Definition) { d.HTTPStatus = 200 },
		"aliases":     func(d *fault.Definition) { d.Aliases = []recoup.Code{"TIMEOUT"} },
		"related":     func(d *fault.Definition) { d.Related = []recoup.Code{"NO_SUCH_CODE"} },
	} {
		bad := ownCode("BAD_ONE")
		change(&bad)
		e := put("BAD_ONE", bad).failed(http.StatusBadRequest, fault.CodeValidationError)
		if f := e.Fields; len(f) != 1 || !strings.Contains(f[0].Message, "BAD_ONE") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	bare := ownCode("BAD_ONE")
	bare.Causes = nil
	put("BAD_ONE", bare).invalid("causes", "required")
	nul := ownCode("BAD_ONE")
	nul.Resolution = []string{"a\x00b"}
	put("BAD_ONE", nul).invalid("resolution", "format")
	w.get("/v1/codes/BAD_ONE").failed(http.StatusNotFound, fault.CodeNotFound)
}

// What a provider, a server or a database said is classified.
func TestClassify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, row := range map[string]struct {
		body      object
		code      recoup.Code
		retryable bool
		after     int
	}{
		"a limit":       {object{"status": 429, "headers": object{"retry-after": "7"}}, fault.CodeRateLimitExceeded, true, 7},
		"not found":     {object{"status": 404}, fault.CodeArtifactNotFound, false, 0},
		"its own words": {object{"status": 409, "body": `{"error_code":"SLOT_CONFLICT","message":"m","request_id":"r"}`}, fault.CodeSlotConflict, false, 0},
		"a deadlock":    {object{"sqlstate": "40P01"}, fault.CodeTransactionConflict, true, 0},
		"a provider":    {object{"provider": "millionverifier", "status": 503}, fault.CodeValidationServiceError, true, 0},

		"upstream 500":   {object{"status": 500}, fault.CodeUpstreamError, true, 0},
		"upstream 502":   {object{"status": 502}, fault.CodeUpstreamError, true, 0},
		"upstream 504":   {object{"status": 504}, fault.CodeExternalServiceTimeout, true, 0},
		"done once":      {object{"status": 504, "idempotent": false}, fault.CodeExternalServiceTimeout, false, 0},
		"not sent":       {object{"status": 429, "idempotent": false}, fault.CodeRateLimitExceeded, true, 0},
		"its own, again": {object{"status": 409, "idempotent": true, "body": `{"error_code":"SLOT_CONFLICT","message":"m","request_id":"r"}`}, fault.CodeSlotConflict, false, 0},
		"a conflict":     {object{"sqlstate": "23505"}, fault.CodeDuplicateWrite, false, 0},
		"by its key":     {object{"sqlstate": "23505", "idempotent": true}, fault.CodeDuplicateWrite, true, 0},

		"maintenance":        {object{"provider": "millionverifier", "message": "service_maintenance"}, fault.CodeValidationServiceError, true, 0},
		"out of credits":     {object{"provider": "millionverifier", "message": "insufficient_credits"}, fault.CodeQuotaExceeded, true, 0},
		"in words":           {object{"provider": "zerobounce", "message": "Error: out of credits"}, fault.CodeQuotaExceeded, true, 0},
		"a full database":    {object{"provider": "neon", "message": "too_many_connections"}, fault.CodeDatabaseConnectionError, true, 0},
		"a captcha":          {object{"provider": "scraper", "message": "captcha"}, fault.CodeRateLimitExceeded, true, 0},
		"a state of Neon":    {object{"provider": "neon", "sqlstate": "53300"}, fault.CodeDatabaseConnectionError, true, 0},
		"with a message":     {object{"provider": "neon", "sqlstate": "40001", "message": "could not serialize access"}, fault.CodeTransactionConflict, true, 0},
		"an unknown message": {object{"provider": "neon", "message": "something new"}, fault.CodeInternalError, false, 0},
	} {
		var out fault.Classified
		w.post("/v1/classify", row.body).ok(&out)
		if out.Code != row.code || out.Retryable != row.retryable || out.RetryAfter != row.after || out.Definition.Code == "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	w.post("/v1/classify", object{}).invalid("status", "required")
	w.post("/v1/classify", object{"provider": "neon"}).invalid("status", "required")
	w.post("/v1/classify", object{"provider": "nobody", "status": 500}).invalid("provider", "known")
}

// The refusal of a status names what was given and what is allowed.
func TestClassifyStatusOutsideTheRange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want, body := range map[string]object{
		"status must be an HTTP status, from 100 to 599; got 600":  {"status": 600},
		"status must be an HTTP status, from 100 to 599; got -1":   {"status": -1},
		"status must be an HTTP status, from 100 to 999; got 1000": {"status": 1000, "provider": "linkedin"},
	} {
		a := w.post("/v1/classify", body)
		if a.invalid("status", "range"); !strings.Contains(a.Body.String(), want) {
			t.Errorf("%v: %s", body, a.Body)
		}
	}
}

// What a plan predicts is what applying it does; a bad file is refused with its
// lines, and the policy in force stays.
func TestPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.report(dol, "CO-1")
	e := w.report(people, "CO-2")
	next := strings.Replace(policyText("1.1.0"), "people-intelligence:\n    name: People Intelligence\n    team: people-intelligence-team\n    lead: people-intelligence-lead\n    overrides:\n      ttl: MEDIUM",
		"people-intelligence:\n    name: People Intelligence\n    team: people-intelligence-team\n    lead: people-intelligence-lead\n    overrides:\n      ttl: SHORT", 1)
	var plan engine.Plan
	w.do("operator", http.MethodPost, "/v1/policy/plan", wire.PolicyFile{Text: next}).ok(&plan)
	if plan.Version != "1.1.0" || plan.Open != 2 || plan.Moved != 2 || plan.Changed != 1 || plan.Changes[0].Kind != engine.ChangeSooner || plan.Changes[0].IDs[0] != e.ID {
		t.Errorf("the plan is %+v", plan)
	}
	var applied struct {
		Version string
		Added   bool
		Rebased engine.RebaseResult
	}
	change := wire.PolicyChange{Text: next, Rebase: true, Reason: "people change sooner"}
	w.do("admin", http.MethodPut, "/v1/policy", change).ok(&applied)
	if applied.Version != "1.1.0" || !applied.Added || string(mustJSON(applied.Rebased.Plan)) != string(mustJSON(plan)) {
		t.Errorf("applied %+v, planned %+v", applied, plan)
	}
	var found recoup.Error
	w.get("/v1/errors/" + e.ID.String()).ok(&found)
	if found.PolicyVersion != "1.1.0" || !found.ExpiresAt.Equal(found.CreatedAt.Add(7*24*time.Hour)) {
		t.Errorf("the error is %+v", found)
	}
	w.do("admin", http.MethodPut, "/v1/policy", change).ok(&applied)
	if applied.Added || applied.Rebased.Current != 2 {
		t.Errorf("again: %+v", applied)
	}

	w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: policyText("1.1.0"), Reason: "r"}).failed(http.StatusConflict, fault.CodeDuplicateRecord)
	w.do("operator", http.MethodPost, "/v1/policy/plan", wire.PolicyFile{Text: policyText("1.1.0")}).failed(http.StatusConflict, fault.CodeDuplicateRecord)
	for _, bad := range []string{"", "version: [", strings.Replace(policyText("1.2.0"), "ttl: LONG", "ttl: ETERNAL", 1), "version: 1\n\x00"} {
		for _, got := range []*answer{
			w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: bad, Reason: "r"}),
			w.post("/v1/policy/plan", wire.PolicyFile{Text: bad}),
		} {
			e := got.failed(http.StatusBadRequest, fault.CodeValidationError)
			if f := e.Fields; !slices.ContainsFunc(f, func(f fault.FieldError) bool { return strings.HasPrefix(f.Message, "line ") }) {
				t.Errorf("%.20q: %+v", bad, f)
			}
		}
	}
	var now wire.Policy
	w.get("/v1/policy").ok(&now)
	if now.Version != "1.1.0" || now.Text != next {
		t.Errorf("in force is %s", now.Version)
	}
}

// The gate says who, why and until when, and a promotion is recorded once it opens.
func TestPromotion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const entity = "CO/1 ?"
	path := "/v1/promotion/CO%2F1%20%3F"
	var gate recoup.PromotionStatus
	w.get(path).ok(&gate)
	if gate.Blocked || gate.EntityID != entity {
		t.Errorf("the gate is %+v", gate)
	}
	e := w.report(dol, entity)
	w.get(path).ok(&gate)
	if !gate.Blocked || gate.Blockers[0].ErrorID != e.ID || gate.Blockers[0].Owner != "system" || !gate.OpensAt.Equal(e.ExpiresAt) {
		t.Errorf("the gate is %+v", gate)
	}
	promotion := recoup.Promotion{EntityID: entity, Phase: "outreach"}
	refused := w.do("worker", http.MethodPost, "/v1/promotions", promotion).failed(http.StatusConflict, fault.CodePromotionBlocked)
	if blockers, _ := refused.Details["blockers"].([]any); len(blockers) != 1 || refused.Details["opens_at"] == nil {
		t.Errorf("details are %v", refused.Details)
	}
	w.post("/v1/errors/"+e.ID.String()+"/resolve", recoup.Act{Reason: "done"}).ok()
	var done recoup.Promoted
	w.do("worker", http.MethodPost, "/v1/promotions", promotion).ok(&done)
	if done.EntityID != entity || done.By != "worker" || done.Seq == 0 {
		t.Errorf("promoted %+v", done)
	}
	w.post("/v1/promotions", recoup.Promotion{EntityID: entity}).invalid("phase", "required")
	w.post("/v1/processed", object{"counts": []object{{"table": dol, "count": 3, "failed": 4}}}).invalid("counts[0].count", "range")
	w.post("/v1/processed", object{"counts": []object{{"count": 3}}}).invalid("counts[0].table", "required")
	w.post("/v1/processed", object{"counts": []object{{"service": "s", "count": 3, "minute": "2020-01-01T00:00:00Z"}}}).invalid("counts[0].minute", "range")
	w.post("/v1/processed", object{"counts": []object{{"service": "s", "count": 3, "duration_ms": 1 << 50}}}).invalid("counts[0].duration_ms", "range")
}

// Pages for people say nothing that a definition could make a browser run.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	def := ownCode("HOSTILE_ONE")
	def.Description = `<script>alert(1)</script>`
	w.do("admin", http.MethodPut, "/v1/codes/HOSTILE_ONE", def).ok()
	for path, want := range map[string]string{"/errors/hostile_one": "&lt;script&gt;", "/errors/TIMEOUT": "TIMEOUT", "/docs": "/v1/promotion/{entity}"} {
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		header := rec.Header()
		if rec.Code != 200 || !strings.Contains(rec.Body.String(), want) || strings.Contains(rec.Body.String(), "<script>") ||
			!strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v %s", path, rec.Code, header, rec.Body)
		}
	}
}

// A demo needs no key, and answers nobody but this machine: a page of somebody
// else in its browser is not it.
func TestDemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *world, o *app.Options) { o.Demo = true })
	report := recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}
	for name, row := range map[string]struct {
		host, origin string
		ok           bool
	}{
		"a terminal":         {"127.0.0.1:8080", "", true},
		"by name":            {"localhost:8080", "", true},
		"IPv6":               {"[::1]:8080", "", true},
		"its own page":       {"localhost:8080", "http://localhost:8080", true},
		"another's page":     {"localhost:8080", "https://evil.example", false},
		"a sandboxed page":   {"localhost:8080", "null", false},
		"a name that moved":  {"evil.example:8080", "http://evil.example:8080", false},
		"a name like it":     {"localhost.evil.example", "", false},
		"an address like it": {"127.0.0.1.evil.example", "", false},
	} {
		r := w.request("", http.MethodPost, "/v1/errors", report)
		r.Host = row.host
		if row.origin != "" {
			r.Header.Set("Origin", row.origin)
		}
		got := w.send(r)
		if row.ok {
			got.ok()
			continue
		}
		if got.Code != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// Whether a code is retryable is said in the list as it is of each.
func TestListedCodesAreRetryable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out struct {
		Codes []struct {
			Code      recoup.Code
			Retryable *bool
		}
	}
	w.get("/v1/codes").ok(&out)
	want := map[recoup.Code]bool{"NETWORK_TIMEOUT": true, "RATE_LIMIT_EXCEEDED": true, "VALIDATION_ERROR": false, "RUNTIME_BUG": false}
	for _, c := range out.Codes {
		retryable, asked := want[c.Code]
		if delete(want, c.Code); c.Retryable == nil || asked && *c.Retryable != retryable {
			t.Errorf("%s: %v", c.Code, c.Retryable)
		}
	}
	if len(want) > 0 {
		t.Errorf("the list lacks %v", want)
	}
}

// A record whose failure both specifications call retryable is retried, without a
// word about idempotency.
func TestRetryableRecords(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *world{"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := make(t)
			for i, code := range []string{"NETWORK_TIMEOUT", "CONNECTION_RESET", "EXTERNAL_SERVICE_TIMEOUT", "UPSTREAM_ERROR", "TIMEOUT", "INTERNAL_ERROR"} {
				e := w.report(dol, fmt.Sprint("CO-", i), func(r *recoup.Report) { r.Code = code })
				if e.State != recoup.RetryPending {
					t.Errorf("%s is %s", code, e.State)
				}
			}
		})
	}
}
