package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
)

// problem is a bad field as the answer lists it.
type problem struct {
	field, constraint string
	value             any
}

// Whatever is wrong with a request comes in one answer (spec 001, Validation
// Errors): its parameters, the shape of its body, the rules of its fields, and what
// they mean; each by the path that the client wrote, with what it sent.
func TestValidationListsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("é", 300)
	for name, row := range map[string]struct {
		method, path, body string
		headers            []string
		want               []problem
	}{
		"a report": {method: "POST", path: "/v1/errors", body: `{"tabel":"x","entity_id":7,"code":"no code","severity":"BAD","http_status":"x","retry_after":-1,"correlation_id":"zzz","details":[],"message":"m","message":"n"}`,
			want: []problem{
				{"tabel", "unknown", nil}, {"entity_id", "type", 7.0}, {"http_status", "type", "x"}, {"correlation_id", "format", "zzz"},
				{"details", "type", nil}, {"message", "unique", nil}, {"severity", "enum", "BAD"}, {"retry_after", "range", -1.0},
				{"table", "required", nil}, {"code", "pattern", "no code"},
			}},
		"its meaning alone": {method: "POST", path: "/v1/errors", body: `{"entity_id":" CO-1","code":"no code"}`,
			want: []problem{{"table", "required", nil}, {"entity_id", "trimmed", " CO-1"}, {"code", "pattern", "no code"}}},
		"a key": {method: "POST", path: "/v1/keys", body: `{"role":"boss","days":"9","hubs":["nobody",1],"nick":"x"}`,
			want: []problem{{"days", "type", "9"}, {"hubs[1]", "type", 1.0}, {"nick", "unknown", nil}, {"role", "enum", "boss"}, {"name", "required", nil}, {"hubs[0]", "known", "nobody"}}},
		"a list": {method: "GET", path: "/v1/errors?tabel=x&code=no+code&limit=x&before=yesterday&hub=nobody",
			want: []problem{{"before", "format", "yesterday"}, {"limit", "format", "x"}, {"tabel", "unknown", nil}, {"code", "pattern", "no code"}, {"hub", "known", "nobody"}}},
		"an act": {method: "POST", path: "/v1/errors/latest/park?now=1", body: `{"reason":"","tier":"x","why":1}`, headers: []string{"Idempotency-Key", "é"},
			want: []problem{{"id", "format", "latest"}, {"now", "unknown", nil}, {"Idempotency-Key", "format", nil}, {"tier", "type", "x"}, {"why", "unknown", nil}, {"reason", "required", nil}}},
		"a result": {method: "POST", path: "/v1/retries/019c1d94-8a80-7000-9a83-b105619023d7/fail", body: `{"code":"no code","retry_after":"soon"}`,
			want: []problem{{"retry_after", "type", "soon"}, {"lease_token", "required", nil}, {"code", "pattern", "no code"}}},
		"a dead letter": {method: "POST", path: "/v1/dead-letters", body: `{"error_class":"no class","stage":"","payload_hash":"xyz","exhausted":"yes","entity":"CO-1"}`,
			want: []problem{{"exhausted", "type", "yes"}, {"entity", "unknown", nil}, {"work_id", "required", nil}, {"pipeline", "required", nil},
				{"stage", "required", nil}, {"error_class", "pattern", "no class"}, {"payload_hash", "pattern", "xyz"}, {"last_stack", "required", nil},
				{"sanitized_context", "required", nil}, {"first_failure_at", "required", nil}, {"last_failure_at", "required", nil}}},
		"an intake": {method: "POST", path: "/v1/gate-zero/intakes?batch_id=+b", body: `{"intake_id":"x","domain":"not a domain","import_key":"k"}`,
			want: []problem{{"intake_id", "format", "x"}, {"import_key", "unexpected", "k"}, {"company_name", "required", nil}, {"domain", "format", "not a domain"}, {"batch_id", "trimmed", " b"}}},
		"a silence": {method: "POST", path: "/v1/silences", body: `{"until":"soon","rule":"none","all":"yes"}`,
			want: []problem{{"until", "format", "soon"}, {"all", "type", "yes"}, {"rule", "known", "none"}, {"reason", "required", nil}}},
		"the end of an import": {method: "POST", path: "/v1/gate-zero/batches/b/complete", body: `{"reason":"a\u0000b","batch":"b"}`,
			want: []problem{{"batch", "unknown", nil}, {"reason", "printable", "a\x00b"}}},
		"a kill": {method: "POST", path: "/cl/gate-zero/kill-switch?batch=b", body: `{"reason":"a\u0000b"}`,
			want: []problem{{"batch_id", "required", nil}, {"batch", "unknown", nil}, {"reason", "printable", "a\x00b"}}},
		"a switch": {method: "POST", path: "/v1/providers/email_validation/switch", body: `{"to":"nobody","why":"x"}`,
			want: []problem{{"why", "unknown", nil}, {"to", "known", "nobody"}, {"reason", "required", nil}}},
		"values": {method: "POST", path: "/v1/classify", body: `{"status":"Bearer abcdefghijklmnop0123456789ABCDEF","provider":"` + long + `"}`,
			want: []problem{{"status", "type", nil}, {"provider", "known", strings.Repeat("é", 80) + "…"}}},
		"an event": {method: "POST", path: "/v1/events", body: `{"ts":"x","code":"b d","service":" s","event_id":"q","http_status":7}`,
			want: []problem{{"ts", "format", "x"}, {"code", "format", "b d"}, {"service", "trimmed", " s"}, {"event_id", "format", "q"}, {"http_status", "range", 7.0}}},
		"reports of which none is good": {method: "POST", path: "/v1/errors/batch", body: `{"reports":[{"table":"t","entity_id":7,"code":"no code","severity":"BAD","foo":1}]}`,
			want: []problem{{"reports[0].entity_id", "type", 7.0}, {"reports[0].foo", "unknown", nil}, {"reports[0].code", "pattern", "no code"}, {"reports[0].severity", "enum", "BAD"}}},
		"counts": {method: "POST", path: "/v1/processed", body: `{"counts":[{"service":"s","count":3,"failed":9},{"count":1},{"service":"s","count":1}]}`,
			want: []problem{{"counts[0].count", "range", 3.0}, {"counts[1].table", "required", nil}}},
		"no JSON, and parameters": {method: "POST", path: "/v1/errors?x=1", body: `{"a`, want: []problem{{"x", "unknown", nil}, {"body", "json", nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			var body any
			if row.body != "" {
				body = row.body
			}
			e := w.do("admin", row.method, row.path, body, row.headers...).failed(http.StatusBadRequest, fault.CodeValidationError)
			if got := e.Details["total_errors"]; got != float64(len(row.want)) {
				t.Errorf("total_errors is %v of %d", got, len(row.want))
			}
			left := map[string]problem{}
			for _, p := range row.want {
				left[p.field] = p
			}
			for _, f := range e.Fields {
				want, ok := left[f.Field]
				if delete(left, f.Field); !ok || f.Constraint != want.constraint || f.Value != want.value || f.Message == "" {
					t.Errorf("got %+v, want %+v", f, want)
				}
			}
			if len(left) > 0 {
				t.Errorf("the answer lacks %v: %+v", left, e.Fields)
			}
		})
	}
}

// A list of problems has an end: the first are listed, all are counted, and a body
// of nothing else costs little.
func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys := make([]string, 3000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	e := w.post("/v1/errors", "{"+strings.Join(keys, ",")+"}").failed(http.StatusBadRequest, fault.CodeValidationError)
	if len(e.Fields) != fault.MaxFieldErrors || e.Details["total_errors"] != 3002.0 || !strings.Contains(e.Message, "first 50") {
		t.Errorf("%d listed of %v: %s", len(e.Fields), e.Details["total_errors"], e.Message)
	}
	items := strings.TrimSuffix(strings.Repeat("1,", 500_000), ",")
	e = w.post("/v1/errors/batch", `{"reports":[`+items+`]}`).failed(http.StatusBadRequest, fault.CodeValidationError)
	if len(e.Fields) > fault.MaxFieldErrors {
		t.Errorf("%d are listed", len(e.Fields))
	}
}

// A name that is unknown is answered with the one that was meant, and a letter with none:
// every word is two mistakes away from it.
func TestGuessesAtUnknownNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, guess := range map[string]string{"reasn": "; did you mean reason?", "rea": "; did you mean reason?", "a": "", "zz": ""} {
		e := w.post("/v1/keys", object{"role": "reader", "name": "n", name: "x"}).failed(http.StatusBadRequest, fault.CodeValidationError)
		want := "there is no field " + name + guess
		if !slices.ContainsFunc(e.Fields, func(f fault.FieldError) bool { return f.Message == want }) {
			t.Errorf("%s: %+v", name, e.Fields)
		}
	}
}
