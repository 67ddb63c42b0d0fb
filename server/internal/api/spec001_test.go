package api_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// classes are the rows of spec 001's classification.
func classes() map[recoup.Class][]recoup.Code {
	return map[recoup.Class][]recoup.Code{
		recoup.ClassImmediate:  {"NETWORK_TIMEOUT", "CONNECTION_RESET"},
		recoup.ClassShortDelay: {"DATABASE_CONNECTION_ERROR", "EXTERNAL_SERVICE_TIMEOUT", "TEMPORARY_UNAVAILABLE"},
		recoup.ClassLongDelay:  {"RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "SERVICE_OVERLOADED"},
		recoup.ClassFatal: {
			"INVALID_API_KEY", "API_KEY_EXPIRED", "INSUFFICIENT_PERMISSIONS",
			"VALIDATION_ERROR", "MALFORMED_JSON", "UNSUPPORTED_CONTENT_TYPE",
			"COMPANY_NOT_FOUND", "DUPLICATE_RECORD", "BUSINESS_RULE_VIOLATION",
		},
		recoup.ClassConditional: {"SLOT_CONFLICT", "VALIDATION_QUEUE_FULL", "IDEMPOTENCY_CONFLICT"},
	}
}

// Spec 001, classification and documentation: the registry as the API shows it has
// the class of every code that the specification names, whether to retry it, and
// what its documentation must say.
func TestSpec001Registry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for class, codes := range classes() {
		for _, code := range codes {
			var shown struct {
				Class       recoup.Class  `json:"class"`
				Retryable   *bool         `json:"retryable"`
				Description string        `json:"description"`
				Causes      []string      `json:"causes"`
				Resolution  []string      `json:"resolution"`
				Related     []recoup.Code `json:"related"`
			}
			w.get("/v1/codes/" + string(code)).ok(&shown)
			if shown.Class != class {
				t.Errorf("%s is %s, want %s", code, shown.Class, class)
			}
			retryable := class != recoup.ClassFatal && class != recoup.ClassConditional
			if shown.Retryable == nil || *shown.Retryable != retryable {
				t.Errorf("%s: retryable is %v, want %v", code, shown.Retryable, retryable)
			}
			if shown.Description == "" || len(shown.Causes) == 0 || len(shown.Resolution) == 0 || len(shown.Related) == 0 {
				t.Errorf("%s lacks documentation: %+v", code, shown)
			}
		}
	}
}

// Spec 002, 8.1, and spec 001's retryable errors: what a failure of another
// service means, by its answer.
func TestSpec002Classification(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, row := range []struct {
		category  string
		failure   fault.RawFailure
		retryable bool
	}{
		{"network transient", fault.RawFailure{Status: 502}, true},
		{"network transient", fault.RawFailure{Status: 503}, true},
		{"network transient", fault.RawFailure{Status: 504}, true},
		{"rate limiting", fault.RawFailure{Status: 429}, true},
		{"rate limiting", fault.RawFailure{Status: 400, Body: `{"error":"rate_limit_exceeded"}`}, true},
		{"rate limiting", fault.RawFailure{Status: 429, Body: `{"error":"quota_exceeded"}`}, true},
		{"upstream internal", fault.RawFailure{Status: 500}, true},
		{"upstream internal", fault.RawFailure{Status: 400, Body: `{"error":"internal_error"}`}, true},
		{"conflicts", fault.RawFailure{SQLState: "40001"}, true},
		{"validation", fault.RawFailure{Status: 400, Body: `{"error_code":"missing_required_field"}`}, false},
		{"validation", fault.RawFailure{Status: 400, Body: `{"error_code":"malformed_json"}`}, false},
		{"validation", fault.RawFailure{Status: 422}, false},
		{"authentication", fault.RawFailure{Status: 401, Body: `{"error":"invalid_api_key"}`}, false},
		{"authentication", fault.RawFailure{Status: 401, Body: `{"error":"token_expired"}`}, false},
		{"authentication", fault.RawFailure{Status: 403}, false},
		{"not found", fault.RawFailure{Status: 404}, false},
		{"not found", fault.RawFailure{Status: 410}, false},
		{"content policy", fault.RawFailure{Status: 400, Body: `{"error":"moderation_blocked"}`}, false},
	} {
		var got fault.Classified
		w.post("/v1/classify", row.failure).ok(&got)
		if got.Retryable != row.retryable {
			t.Errorf("%s: %+v is %s, retryable %v", row.category, row.failure, got.Code, got.Retryable)
		}
	}
	var limited fault.Classified
	w.post("/v1/classify", fault.RawFailure{Status: 429, Headers: map[string]string{"Retry-After": "120"}}).ok(&limited)
	if limited.RetryAfter != 120 {
		t.Errorf("Retry-After is %d", limited.RetryAfter)
	}
}

// Spec 001, authentication: a key is rdb_ and 32 characters, and is good for 90 days
// unless it was made for fewer.
func TestSpec001KeyLife(t *testing.T) {
	onBothStores(t, func(w *world) {
		var made wire.Key
		w.post("/v1/keys", wire.NewKey{Name: "nightly", Role: "reader", Reason: "a test"}).ok(&made)
		if !regexp.MustCompile(`^rdb_[A-Za-z0-9]{32}$`).MatchString(made.Secret) {
			w.Errorf("the key has the form of %q", made.Secret)
		}
		// What takes over from a key lives as long.
		var rotated wire.Key
		w.post("/v1/keys/"+made.ID.String()+"/rotate", map[string]any{"reason": "a test", "hours": 0}).ok(&rotated)
		w.post("/v1/keys", wire.NewKey{Name: "nightly", Role: "reader", Reason: "a test"}).ok(&made)
		ends := w.clock().Add(90 * day)
		names := []string{w.use(made), w.use(rotated)}
		w.wait(90*day - time.Second)
		for _, name := range names {
			w.do(name, http.MethodGet, "/v1/errors", nil).ok()
		}
		w.wait(time.Second)
		for _, name := range names {
			e := w.do(name, http.MethodGet, "/v1/errors", nil).failed(http.StatusUnauthorized, fault.CodeAPIKeyExpired)
			if e.Details["expired_at"] != ends.Format(time.RFC3339) || e.Details["renewal_url"] == nil {
				w.Errorf("it says %v", e.Details)
			}
		}
	})
}
