package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

func provider(t *testing.T, name string) *fault.Provider {
	t.Helper()
	p, ok := fault.DefaultProviders().Lookup(name)
	if !ok {
		t.Fatalf("no provider %q", name)
	}
	return p
}

func TestProviderAnswers(t *testing.T) {
	for _, c := range []struct {
		provider string
		status   int
		body     string
		want     recoup.Code
	}{
		{"millionverifier", 503, "", "VALIDATION_SERVICE_ERROR"},
		{"millionverifier", 500, `{"error":"internal_error"}`, "VALIDATION_SERVICE_ERROR"},
		{"millionverifier", 429, "", "RATE_LIMIT_EXCEEDED"},
		{"millionverifier", 200, `{"error":"Insufficient credits"}`, "QUOTA_EXCEEDED"},
		{"millionverifier", 200, `{"error":"apikey_not_found"}`, "AUTH_DENIED"},
		{"millionverifier", 200, `{"error":"","result":"ok"}`, ""},
		{"millionverifier", 200, `{"error":"something new"}`, ""},
		{"millionverifier", 400, `{"error":"something new"}`, "VALIDATION_ERROR"},
		{"zerobounce", 504, "", "VALIDATION_SERVICE_ERROR"},
		{"zerobounce", 400, `{"error":"Invalid API key or your account ran out of credits"}`, "AUTH_DENIED"},
		{"zerobounce", 402, "", "QUOTA_EXCEEDED"},
		{"zerobounce", 401, "", "AUTH_DENIED"},
		// A limit on us against data that is not there (spec 001, Scraper Repository Integration).
		{"linkedin", 429, "", "RATE_LIMIT_EXCEEDED"},
		{"linkedin", 999, "", "RATE_LIMIT_EXCEEDED"},
		{"linkedin", 403, `{"error":"captcha_required"}`, "RATE_LIMIT_EXCEEDED"},
		{"linkedin", 404, "", "NO_LINKEDIN_COMPANY"},
		{"linkedin", 204, "", "DATA_UNAVAILABLE"},
		{"linkedin", 200, `{"error":"no_data"}`, "DATA_UNAVAILABLE"},
		{"linkedin", 503, "", "API_UNAVAILABLE"},
		{"linkedin", 504, "", "TIMEOUT"},
		{"linkedin", 403, "", "AUTH_DENIED"},
		{"scraper", 429, "", "RATE_LIMIT_EXCEEDED"},
		{"scraper", 404, "", "DATA_UNAVAILABLE"},
		{"scraper", 410, "", "DATA_UNAVAILABLE"},
		{"scraper", 204, "", "DATA_UNAVAILABLE"},
		{"scraper", 200, `{"status":"captcha"}`, "RATE_LIMIT_EXCEEDED"},
		{"scraper", 200, `{"status":"ok"}`, ""},
		{"neon", 423, "", "DATABASE_BUSY"},
		{"neon", 503, "", "DATABASE_CONNECTION_ERROR"},
		{"neon", 429, "", "RATE_LIMIT_EXCEEDED"},
	} {
		v := provider(t, c.provider).ClassifyResponse(c.status, nil, []byte(c.body), noon, nil)
		if v.Code != c.want {
			t.Errorf("%s, %d %s = %s, want %s", c.provider, c.status, c.body, v.Code, c.want)
		}
		if c.want == "" && v.Details != nil {
			t.Errorf("%s, %d %s is no failure, and has details %v", c.provider, c.status, c.body, v.Details)
		}
	}
}

func TestProviderErrors(t *testing.T) {
	reset := &url.Error{Op: "Get", Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}
	refused := &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	slowDial := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		provider string
		err      error
		want     recoup.Code
		scope    fault.Scope
	}{
		{"millionverifier", reset, "VALIDATION_SERVICE_ERROR", fault.ScopeIdempotentOnly},
		{"millionverifier", refused, "VALIDATION_SERVICE_ERROR", fault.ScopeRequest},
		{"millionverifier", errors.New("?"), "INTERNAL_ERROR", fault.ScopeRequest},
		{"millionverifier", context.Canceled, "REQUEST_CANCELLED", fault.ScopeRequest},
		{"linkedin", os.ErrDeadlineExceeded, "TIMEOUT", fault.ScopeIdempotentOnly},
		{"linkedin", refused, "API_UNAVAILABLE", fault.ScopeRequest},
		{"scraper", os.ErrDeadlineExceeded, "EXTERNAL_SERVICE_TIMEOUT", fault.ScopeIdempotentOnly},
		{"neon", reset, "OUTCOME_UNKNOWN", fault.ScopeIdempotentOnly},
		{"neon", os.ErrDeadlineExceeded, "OUTCOME_UNKNOWN", fault.ScopeIdempotentOnly},
		{"neon", slowDial, "DATABASE_CONNECTION_ERROR", fault.ScopeRequest},
		{"neon", refused, "DATABASE_CONNECTION_ERROR", fault.ScopeRequest},
		{"neon", fault.OnAcquire(context.DeadlineExceeded), "DATABASE_CONNECTION_ERROR", fault.ScopeRequest},
		{"neon", sqlError("40001"), "TRANSACTION_CONFLICT", fault.ScopeTransaction},
	} {
		v := provider(t, c.provider).Classify(c.err, nil)
		if v.Code != c.want || v.Scope != c.scope {
			t.Errorf("%s: %v = %s %s, want %s %s", c.provider, c.err, v.Code, v.Scope, c.want, c.scope)
		}
	}
	for _, err := range []error{nil, context.Canceled} {
		if v := provider(t, "neon").Classify(err, nil); v.Details != nil {
			t.Errorf("%v is no failure of the provider, and has details %v", err, v.Details)
		}
	}
	maintained := fault.New(fault.CodeTemporaryUnavailable, "maintenance").After(5 * time.Minute)
	if v := provider(t, "zerobounce").Classify(maintained, nil); v.Code != "VALIDATION_SERVICE_ERROR" || v.RetryAfter != 5*time.Minute {
		t.Errorf("maintenance = %+v", v)
	}
}

// The words of a provider count in the text of an error as they do in an answer, where the
// types of the error do not say more.
func TestProviderWordsInErrors(t *testing.T) {
	for _, c := range []struct {
		provider string
		err      error
		want     recoup.Code
		word     string
	}{
		{"millionverifier", errors.New("service_maintenance"), "VALIDATION_SERVICE_ERROR", "service_maintenance"},
		{"millionverifier", errors.New("refused: insufficient credits"), "QUOTA_EXCEEDED", "insufficient_credits"},
		{"millionverifier", fmt.Errorf("verify: %w", errors.New("apikey_not_found")), "AUTH_DENIED", "apikey_not_found"},
		{"zerobounce", errors.New("Invalid API key or your account ran out of credits"), "AUTH_DENIED", "invalid_api_key_or_your_account_ran_out_of_credits"},
		{"neon", errors.New("too_many_connections"), "DATABASE_CONNECTION_ERROR", "too_many_connections"},
		{"neon", errors.New("control plane said endpoint_suspended, try later"), "DATABASE_CONNECTION_ERROR", "endpoint_suspended"},
		{"scraper", errors.New("captcha"), "RATE_LIMIT_EXCEEDED", "captcha"},
		{"linkedin", errors.New("timeout"), "TIMEOUT", "timeout"},                             // known to every provider, then a rule on its code
		{"scraper", errors.New("overloaded"), "SERVICE_OVERLOADED", "overloaded"},             // known to every provider
		{"scraper", errors.New("the page is empty of news"), "INTERNAL_ERROR", ""},            // a word in a sentence
		{"scraper", fault.New(fault.CodeInternalError, "captcha"), "INTERNAL_ERROR", ""},      // has a code
		{"scraper", fmt.Errorf("captcha: %w", sqlError("40001")), "TRANSACTION_CONFLICT", ""}, // is known by its type
		{"neon", sqlError("53300"), "DATABASE_CONNECTION_ERROR", ""},
		{"scraper", (*net.OpError)(nil), "INTERNAL_ERROR", ""},
		{"scraper", errors.New(strings.Repeat("captcha ", 1000)), "INTERNAL_ERROR", ""},
	} {
		v := provider(t, c.provider).Classify(c.err, nil)
		word := c.word
		if word == "" {
			word = fmt.Sprintf("%T", c.err)
		}
		if v.Code != c.want || v.Details["provider_error"] != word || v.Page && c.word != "" {
			t.Errorf("%s: %T = %+v, want %s by %s", c.provider, c.err, v, c.want, word)
		}
	}
}

// Spec 001, External Service Errors.
func TestProviderDetails(t *testing.T) {
	p := provider(t, "millionverifier")
	v := p.ClassifyResponse(503, http.Header{"Retry-After": {"300"}}, []byte(`{"error":"service_maintenance"}`), noon, nil)
	want := map[string]any{
		"provider": "millionverifier", "provider_error": "service_maintenance", "upstream_status": 503,
		"fallback_available": true, "fallback_provider": "zerobounce",
	}
	if v.Code != "VALIDATION_SERVICE_ERROR" || v.RetryAfter != 300*time.Second || !maps.Equal(v.Details, want) {
		t.Errorf("verdict = %+v", v)
	}
	for name, c := range map[string]struct {
		v        fault.Verdict
		fallback bool
	}{
		"out of credits":   {p.ClassifyResponse(200, nil, []byte(`{"error":"insufficient_credits"}`), noon, nil), true},
		"a wrong request":  {p.ClassifyResponse(400, nil, nil, noon, nil), false},
		"the only scraper": {provider(t, "scraper").ClassifyResponse(429, nil, nil, noon, nil), false},
	} {
		if c.v.Details["fallback_available"] != c.fallback || (c.v.Details["fallback_provider"] != nil) != c.fallback {
			t.Errorf("%s: details = %v", name, c.v.Details)
		}
	}
}

func TestProviderErrorIsRedacted(t *testing.T) {
	p := provider(t, "zerobounce")
	secret := &url.Error{Op: "Get", URL: "https://x/?api_key=s3cr3t", Err: io.ErrUnexpectedEOF}
	redact := func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "***") }
	if got := p.Classify(secret, nil).Details["provider_error"]; got != "*url.Error" {
		t.Errorf("without a redactor the details keep %q", got)
	}
	if got := p.Classify(secret, redact).Details["provider_error"]; got != `Get "https://x/?api_key=***": unexpected EOF` {
		t.Errorf("with a redactor the details keep %q", got)
	}
	story := []byte(`{"error":"` + strings.Repeat("once upon a time ", 4) + `"}`)
	if got := p.ClassifyResponse(400, nil, story, noon, redact).Details["provider_error"]; got != nil {
		t.Errorf("a text of %d bytes passed for a word: %q", len(story), got)
	}
	body := []byte(`{"error":"no such key: s3cr3t"}`)
	if got := p.ClassifyResponse(400, nil, body, noon, nil).Details["provider_error"]; got != nil {
		t.Errorf("without a redactor the details keep %q", got)
	}
	if got := p.ClassifyResponse(400, nil, body, noon, redact).Details["provider_error"]; got != "no_such_key__***" {
		t.Errorf("with a redactor the details keep %q", got)
	}
}

func TestLoadProvidersRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"no list":            `{}`,
		"an unknown member":  `[{"name":"a","rulez":[]}]`,
		"a name twice":       `[{"name":"a"},{"name":"a"}]`,
		"no name":            `[{"rules":[]}]`,
		"a spaced name":      `[{"name":"a b"}]`,
		"a missing fallback": `[{"name":"a","fallback":"b"}]`,
		"its own fallback":   `[{"name":"a","fallback":"a"}]`,
		"a catch-all":        `[{"name":"a","rules":[{"code":"TIMEOUT"}]}]`,
		"a scope alone":      `[{"name":"a","rules":[{"scope":"request","code":"TIMEOUT"}]}]`,
		"an unknown code":    `[{"name":"a","rules":[{"status":[500],"code":"NEVER_HEARD_OF"}]}]`,
		"an alias":           `[{"name":"a","rules":[{"status":[500],"code":"RATE_LIMITED"}]}]`,
		"an unknown cause":   `[{"name":"a","rules":[{"codes":["NEVER_HEARD_OF"],"code":"TIMEOUT"}]}]`,
		"an unmatched word":  `[{"name":"a","rules":[{"words":["Not Found"],"code":"TIMEOUT"}]}]`,
	} {
		if _, err := fault.LoadProviders([]byte(data)); err == nil {
			t.Errorf("%s was taken: %s", name, data)
		}
	}
}

func TestLoadProviders(t *testing.T) {
	own, err := fault.LoadProviders([]byte(`[{"name":"b"},{"name":"a","fallback":"b","rules":[{"status":[507],"code":"STORAGE_FULL"}]}]`))
	if err != nil || !slices.Equal(own.Names(), []string{"a", "b"}) {
		t.Fatalf("LoadProviders = %v, %v", own.Names(), err)
	}
	p, _ := own.Lookup("a")
	if v := p.ClassifyResponse(507, nil, nil, noon, nil); v.Code != "STORAGE_FULL" || v.Page {
		t.Errorf("a full disk elsewhere = %+v, want no page", v)
	}
}
