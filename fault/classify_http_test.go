package fault_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

var noon = time.Date(2025, 10, 23, 12, 0, 0, 0, time.UTC)

func TestClassifyStatus(t *testing.T) {
	const (
		immediate, short, long = recoup.ClassImmediate, recoup.ClassShortDelay, recoup.ClassLongDelay
		conditional, fatal     = recoup.ClassConditional, recoup.ClassFatal
		request, once          = fault.ScopeRequest, fault.ScopeIdempotentOnly
	)
	for status, want := range map[int]expect{
		200: {}, 204: {}, 302: {}, 399: {},
		400: {"VALIDATION_ERROR", fatal, request, ""},
		401: {"AUTH_DENIED", fatal, request, ""},
		402: {"AUTH_DENIED", fatal, request, ""},
		403: {"AUTH_DENIED", fatal, request, ""},
		404: {"ARTIFACT_NOT_FOUND", fatal, request, ""},
		405: {"METHOD_NOT_ALLOWED", fatal, request, ""},
		406: {"VALIDATION_ERROR", fatal, request, ""},
		408: {"NETWORK_TIMEOUT", immediate, request, ""},
		409: {"CONFLICT", conditional, request, ""},
		410: {"DESTINATION_GONE", fatal, request, ""},
		412: {"STALE_READ", conditional, once, ""},
		413: {"PAYLOAD_TOO_LARGE", fatal, request, ""},
		415: {"UNSUPPORTED_CONTENT_TYPE", fatal, request, ""},
		418: {"VALIDATION_ERROR", fatal, request, ""},
		422: {"VALIDATION_ERROR", fatal, request, ""},
		423: {"CONFLICT", conditional, request, ""},
		425: {"TEMPORARY_UNAVAILABLE", short, request, ""},
		429: {"RATE_LIMIT_EXCEEDED", long, request, ""},
		451: {"CONTENT_REJECTED", fatal, request, ""},
		499: {"VALIDATION_ERROR", fatal, request, ""},
		500: {"UPSTREAM_ERROR", short, once, ""},
		501: {"EXTERNAL_API_CHANGED", fatal, request, ""},
		502: {"UPSTREAM_ERROR", short, once, ""},
		503: {"TEMPORARY_UNAVAILABLE", short, request, ""},
		504: {"EXTERNAL_SERVICE_TIMEOUT", short, once, ""},
		507: {"UPSTREAM_ERROR", short, once, ""},
		529: {"SERVICE_OVERLOADED", long, request, ""},
		999: {"EXTERNAL_SERVICE_ERROR", fatal, request, ""},
	} {
		v := fault.ClassifyResponse(status, nil, nil, noon)
		if got := (expect{v.Code, v.Class, v.Scope, ""}); got != want {
			t.Errorf("%d = %+v, want %+v", status, got, want)
		}
		if want.code != "" && v.Details["upstream_status"] != status {
			t.Errorf("%d: details = %v", status, v.Details)
		}
	}
}

func TestClassifyRetryAfter(t *testing.T) {
	for _, c := range []struct {
		header, body string
		want         time.Duration
	}{
		{"120", "", 2 * time.Minute},
		{"Thu, 23 Oct 2025 12:01:30 GMT", "", 90 * time.Second},
		{"Thu, 23 Oct 2025 11:00:00 GMT", `{"retry_after":7}`, 0},
		{"soon", "", 0},
		{"", `{"error_code":"RATE_LIMIT_EXCEEDED","retry_after":60}`, time.Minute},
		{"5", `{"error_code":"RATE_LIMIT_EXCEEDED","retry_after":60}`, 5 * time.Second},
		{"", `{"retry_after":9223372036854775807}`, retry.MaxRetryAfter},
		{"", `{"retry_after":-5}`, 0},
		{"", `{"retry_after":1.5}`, 2 * time.Second},
		{"", `{"retry_after":"later"}`, 0},
	} {
		for _, status := range []int{429, 503} {
			v := fault.ClassifyResponse(status, http.Header{"Retry-After": {c.header}}, []byte(c.body), noon)
			if v.RetryAfter != c.want {
				t.Errorf("%d with %q and %s: retry after %v, want %v", status, c.header, c.body, v.RetryAfter, c.want)
			}
		}
	}
}

func TestClassifyWordsInTheBody(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		code   recoup.Code
		word   any // details.provider_error
	}{
		{429, `{"error":{"message":"m","type":"requests","code":"rate_limit_exceeded"}}`, "RATE_LIMIT_EXCEEDED", "rate_limit_exceeded"},
		{403, `{"error":{"code":"rate_limit_exceeded"}}`, "RATE_LIMIT_EXCEEDED", "rate_limit_exceeded"},
		{429, `{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}`, "QUOTA_EXCEEDED", "insufficient_quota"},
		{429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}`, "RATE_LIMIT_EXCEEDED", "resource_exhausted"},
		{400, `{"type":"error","error":{"type":"overloaded_error"}}`, "SERVICE_OVERLOADED", "overloaded_error"},
		{400, `{"error":"internal_error"}`, "UPSTREAM_ERROR", "internal_error"},
		{500, `{"code":"service_maintenance"}`, "TEMPORARY_UNAVAILABLE", "service_maintenance"},
		{400, `{"error":"Content policy violation"}`, "CONTENT_REJECTED", "content_policy_violation"},
		{401, `{"error":"token-expired"}`, "TOKEN_EXPIRED", "token_expired"},
		{400, `{"error_code":"slot_conflict","message":"m"}`, "SLOT_CONFLICT", nil},
		{400, `{"error_code":"rate_limited"}`, "RATE_LIMIT_EXCEEDED", nil},
		{500, `{"error_code":"RUNTIME_BUG"}`, "RUNTIME_BUG", nil},

		// Who is refused for good is refused, whatever else the body says; many
		// providers refuse with 403 who comes too often.
		{403, `{"status":"unavailable"}`, "AUTH_DENIED", nil},
		{403, `{"error_code":"network_timeout"}`, "AUTH_DENIED", nil},
		{403, `{"error":"quota_exceeded"}`, "QUOTA_EXCEEDED", "quota_exceeded"},
		{403, `{"error_code":"RATE_LIMITED"}`, "RATE_LIMIT_EXCEEDED", nil},
		{403, `{"error":"content_filter"}`, "CONTENT_REJECTED", "content_filter"},
		{401, `{"error":"timeout"}`, "AUTH_DENIED", nil},
		{501, `{"status":"unavailable"}`, "EXTERNAL_API_CHANGED", nil},

		// The status decides where the body says nothing that is known.
		{503, `{"error_code":"NEVER_HEARD_OF"}`, "TEMPORARY_UNAVAILABLE", nil},
		{404, `{"error":{"code":"model_not_found"}}`, "ARTIFACT_NOT_FOUND", nil},
		{502, `<html>rate_limit_exceeded</html>`, "UPSTREAM_ERROR", nil},
		{502, `["rate_limit_exceeded"]`, "UPSTREAM_ERROR", nil},
		{502, `{"error":["rate_limit_exceeded"],"code":7,"type":null}`, "UPSTREAM_ERROR", nil},
		{502, `{"message":"rate_limit_exceeded"}`, "UPSTREAM_ERROR", nil},
		{502, `{"error":"rate_limit_exceeded","pad":"` + strings.Repeat("x", 64<<10) + `"}`, "UPSTREAM_ERROR", nil},
		{200, `{"error":"rate_limit_exceeded"}`, "", nil},
	} {
		v := fault.ClassifyResponse(c.status, nil, []byte(c.body), noon)
		if v.Code != c.code || v.Details["provider_error"] != c.word {
			t.Errorf("%d %.80s = %s %v, want %s %v", c.status, c.body, v.Code, v.Details, c.code, c.word)
		}
		if v.Page {
			t.Errorf("%d %.80s pages our operator for a failure elsewhere", c.status, c.body)
		}
	}
}

func FuzzClassifyResponse(f *testing.F) {
	f.Add(429, "120", []byte(`{"error":{"code":"rate_limit_exceeded"}}`))
	f.Add(503, "Thu, 23 Oct 2025 12:01:30 GMT", []byte(`{"error":"maintenance","retry_after":1e3}`))
	f.Add(400, "", []byte(`{"error_code":"validation_failed"}`))
	f.Add(-1, "x", []byte(`{"error":{"error":{}}}`))
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		v := fault.ClassifyResponse(status, http.Header{"Retry-After": {after}}, body, noon)
		if (v.Code == "") != (status < 400) {
			t.Errorf("status %d = %q", status, v.Code)
		}
		if _, ok := fault.Default().Lookup(v.Code); v.Code != "" && !ok {
			t.Errorf("%q is not registered", v.Code)
		}
		if v.RetryAfter < 0 || v.RetryAfter > retry.MaxRetryAfter {
			t.Errorf("retry after %v", v.RetryAfter)
		}
		if data, err := json.Marshal(v.Details); err != nil || len(data) > 256 {
			t.Errorf("details %s, %v", data, err)
		}
	})
}
