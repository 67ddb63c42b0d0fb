package api_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// changedPolicy is the default policy with other settings of what is not a stored error.
func changedPolicy(t *testing.T) string {
	t.Helper()
	text := policyText("1.0.1")
	for from, to := range map[string]string{
		"      field: string\n": "",
		"max_value_bytes: 128":  "max_value_bytes: 18",
		"    max_bytes: 1024":   "    max_bytes: 60",
		"default: {max_attempts: 3, base: 1s, multiplier: 2, cap: 300s}":                                    "default: {max_attempts: 7, base: 2s, multiplier: 3, cap: 30s}",
		"NETWORK_TIMEOUT:           {max_attempts: 5, base: 100ms, multiplier: 1.5, cap: 5s}":               "NETWORK_TIMEOUT: {max_attempts: 9, base: 250ms, multiplier: 4, cap: 8s}",
		"DATABASE_CONNECTION_ERROR: {max_attempts: 3, base: 1s, multiplier: 2, cap: 60s}":                   "DATABASE_CONNECTION_ERROR: {max_attempts: 0}",
		"max_attempts: 5\n  schedule: {kind: exponential, base: 1s, multiplier: 2, cap: 60s, jitter: full}": "max_attempts: 3\n  schedule: {kind: linear, base: 20s}",
		"retry_after_ceiling: 5m":                                "retry_after_ceiling: 9m",
		"schedule: {kind: exponential, base: 2s, multiplier: 2}": "schedule: {kind: linear, base: 40s}",
		"waits: [24h, 72h, 168h]":                                "waits: [2h, 3h, 5h]",
	} {
		if strings.Count(text, from) != 1 {
			t.Fatalf("the default policy has %d times %q", strings.Count(text, from), from)
		}
		text = strings.Replace(text, from, to, 1)
	}
	return text
}

// Spec 001, retry configuration: the registry and the pages of codes give the retries that the
// policy in force has, of requests, stages, records and Gate Zero.
func TestRetriesOfThePolicy(t *testing.T) {
	onBothStores(t, func(w *world) {
		w.do("", http.MethodGet, "/errors/NETWORK_TIMEOUT", nil).ok() // which is remembered
		w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: changedPolicy(w.T), Reason: "a try"}).ok()
		for code, want := range map[string]*fault.RetryPolicy{
			"NETWORK_TIMEOUT":           {MaxAttempts: 9, BaseDelayMS: 250, MaxDelayMS: 8000, BackoffMultiplier: 4, RespectRetryAfter: true},
			"UPSTREAM_ERROR":            {MaxAttempts: 7, BaseDelayMS: 2000, MaxDelayMS: 30000, BackoffMultiplier: 3, RespectRetryAfter: true},
			"DATABASE_CONNECTION_ERROR": {},
		} {
			var def struct{ Retry *fault.RetryPolicy }
			if w.get("/v1/codes/" + code).ok(&def); !reflect.DeepEqual(def.Retry, want) {
				w.Errorf("%s is retried %+v, want %+v", code, def.Retry, want)
			}
		}
		for path, wants := range map[string][]string{
			"/errors/NETWORK_TIMEOUT":           {"9 times: first after 250ms", "2 times: 20s, then 20s more each time; Retry-After counts up to 9m", "After 40s, 80s, 2m"},
			"/errors/UPSTREAM_ERROR":            {"7 times: first after 2s"},
			"/errors/DATABASE_CONNECTION_ERROR": {"Never, by the policy."},
			"/errors/DOMAIN_NOT_FOUND":          {"After 2h, 3h, 5h, then it is exhausted."},
		} {
			got := w.do("", http.MethodGet, path, nil).ok()
			for _, want := range wants {
				if !strings.Contains(got.Body.String(), want) {
					w.Errorf("%s lacks %q", path, want)
				}
			}
		}
	})
}

// Spec 003, governance: the policy in force says which keys details may have, and how large they may be.
func TestDetailsOfThePolicy(t *testing.T) {
	onBothStores(t, func(w *world) {
		w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: changedPolicy(w.T), Reason: "a try"}).ok()
		for service, row := range map[string]struct{ sent, kept object }{
			"key":   {object{"field": "email", "limit": 7}, object{"limit": 7., "retryable": true}},
			"value": {object{"expected_etag": `W/"9f86d081884c7d65"`, "limit": 7}, object{"limit": 7., "retryable": true}},
			"total": {object{"existing_id": "01JAH8ZJ0Z", "limit": 1234567890, "window_sec": 1234567890, "expected_etag": "9f86d081", "retryable": true}, object{"limit": 1234567890., "retryable": true}},
		} {
			w.post("/v1/events", object{"code": "rate_limited", "service": service, "details": row.sent}, "Prefer", "respond-sync").ok()
			var page recoup.EventPage
			if w.get("/v1/events?service=" + service).ok(&page); len(page.Events) != 1 || !reflect.DeepEqual(page.Events[0].Details, row.kept) {
				w.Errorf("of %v is kept %+v, want %v", row.sent, page.Events, row.kept)
			}
		}
		w.drops(w.T, map[string]int64{"details_unknown_key": 1, "details_too_large": 3, "details_wrong_type": 1})
	})
}

// A policy is not in force before the day that it names.
func TestPolicyOfTomorrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Replace(policyText("1.0.1"), "effective: 2026-02-02", "effective: "+w.clock().AddDate(0, 0, 1).Format("2006-01-02"), 1)
	w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: text, Reason: "a try"}).invalid("text", "effective")
	w.wait(24 * time.Hour)
	w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: text, Reason: "a try"}).ok()
}
