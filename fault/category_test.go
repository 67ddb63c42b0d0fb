package fault_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

func answer(status int, body string) fault.Verdict {
	return fault.ClassifyResponse(status, nil, []byte(body), noon)
}

// The rows of spec 002, 8.1, with their examples.
func TestStageCategories(t *testing.T) {
	var text struct{ A string }
	rows := []struct {
		name      string
		retryable bool
		examples  map[string]fault.Verdict
	}{
		{"network_transient", true, map[string]fault.Verdict{
			"DNS timeout":    fault.Classify(&net.DNSError{IsTimeout: true}),
			"socket timeout": fault.Classify(os.ErrDeadlineExceeded),
			"TCP reset":      fault.Classify(syscall.ECONNRESET),
			"503":            answer(503, ""),
			"504":            answer(504, ""),
		}},
		{"rate_limit", true, map[string]fault.Verdict{
			"429":                 answer(429, ""),
			"rate_limit_exceeded": answer(400, `{"error":"rate_limit_exceeded"}`),
			"quota window":        answer(429, `{"error":"quota_exceeded"}`),
		}},
		{"upstream_internal", true, map[string]fault.Verdict{
			"LLM internal_error": answer(400, `{"error":"internal_error"}`),
			"webhook 500":        answer(500, ""),
			"502":                answer(502, ""),
		}},
		{"conflict", true, map[string]fault.Verdict{
			"duplicate write race": fault.Classify(sqlError("23505")),
			"version conflict":     answer(409, `{"error":"version_conflict"}`),
			"ETag mismatch":        answer(412, ""),
		}},
		{"validation", false, map[string]fault.Verdict{
			"missing required field": answer(400, `{"error_code":"missing_required_field"}`),
			"malformed JSON":         fault.Classify(json.Unmarshal([]byte("{"), &text)),
			"schema mismatch":        fault.Classify(json.Unmarshal([]byte(`{"A":1}`), &text)),
			"422":                    answer(422, ""),
		}},
		{"auth", false, map[string]fault.Verdict{
			"invalid API key":   answer(401, `{"error":"invalid_api_key"}`),
			"expired token":     answer(401, `{"error":"token_expired"}`),
			"permission denied": answer(403, ""),
		}},
		{"permanent_state", false, map[string]fault.Verdict{
			"artifact 404":    answer(404, ""),
			"deleted channel": answer(410, ""),
		}},
		{"content_reject", false, map[string]fault.Verdict{
			"moderation block": answer(400, `{"error":"moderation_blocked"}`),
			"deny policy":      fault.Classify(fault.New(fault.CodeBusinessRuleViolation, "denied")),
		}},
		{"bug", false, map[string]fault.Verdict{
			"null dereference":  fault.Classify(recovered(func() { _ = *(*int)(nil) })),
			"bad deploy config": fault.Classify(fault.New(fault.CodeConfigurationError, "no endpoint")),
		}},
	}
	categories := fault.StageCategories()
	if len(categories) != len(rows) {
		t.Fatalf("there are %d categories, want %d", len(categories), len(rows))
	}
	of := map[recoup.Code]string{}
	scopes := map[fault.Scope]int{}
	for i, row := range rows {
		c := categories[i]
		if c.Name != row.name || c.Retryable != row.retryable || c.Note == "" {
			t.Errorf("row %d is %+v, want %s", i+1, c, row.name)
		}
		scopes[c.Scope]++
		for _, code := range c.Codes {
			if of[code] != "" {
				t.Errorf("%s is in %s and in %s", code, of[code], c.Name)
			}
			of[code] = c.Name
			checkAgainstRegistry(t, c, code)
		}
	}
	if scopes[fault.ScopeIdempotentOnly] != 3 || scopes[fault.ScopeRequest] != 1 || scopes[""] != 5 {
		t.Errorf("scopes %v: network, upstream and conflict are repeated only where that is safe", scopes)
	}
	for _, row := range rows {
		for name, v := range row.examples {
			if of[v.Code] != row.name {
				t.Errorf("%s: %s is %q, want %s", name, v.Code, of[v.Code], row.name)
			}
			if got := v.Retryable(recoup.ConditionIdempotencyKey); got != row.retryable {
				t.Errorf("%s: retryable is %t with an idempotent stage", name, got)
			}
			if got := v.Retryable(); got != (row.retryable && v.Class != recoup.ClassConditional) {
				t.Errorf("%s: retryable is %t where nothing is said", name, got)
			}
			if got := v.Retryable(fault.NotIdempotent()); row.name == "rate_limit" && !got || v.Scope == fault.ScopeIdempotentOnly && got {
				t.Errorf("%s: retryable is %t with a stage that must not be repeated", name, got)
			}
		}
	}
	if v := fault.Classify(context.Canceled); of[v.Code] != "" {
		t.Errorf("a cancellation is no failure of the stage, and not %s", of[v.Code])
	}
}

func checkAgainstRegistry(t *testing.T, c fault.StageCategory, code recoup.Code) {
	t.Helper()
	def, ok := fault.Default().Lookup(code)
	if !ok {
		t.Fatalf("%s is not registered", code)
	}
	if def.Retryable(true) != c.Retryable || def.Condition != c.Condition || def.Page != c.Page {
		t.Errorf("%s: %s does not fit what is registered: %+v", c.Name, code, def)
	}
	if v := fault.Classify(fault.New(code, "")); c.Retryable && c.Scope == fault.ScopeRequest && v.Scope != c.Scope {
		t.Errorf("%s: %s may be repeated only if %s", c.Name, code, v.Scope)
	}
}
