package redact_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

func TestContext(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range 25 {
		many[fmt.Sprintf("s%02d", i)] = 1
	}
	for name, row := range map[string]struct {
		in   map[string]any
		want string
		lost redact.Drops
	}{
		"nothing": {nil, "null", nil},
		"what is allowed": {
			map[string]any{"stage": "llm", "attempts": map[string]any{"llm": 5.0}, "upstream_status": 503, "request_ids": map[string]any{"openai": "chatcmpl-9"}},
			`{"attempts":{"llm":5},"request_ids":{"openai":"chatcmpl-9"},"stage":"llm","upstream_status":503}`, nil,
		},
		"prompts and bodies": {
			map[string]any{"prompt": "say", "body": map[string]any{"a": 1}, "prompt_hash": "0123abcd"},
			`{"prompt_hash":"0123abcd"}`, redact.Drops{redact.DropUnknownKey: 2},
		},
		"sentences under allowed keys": {
			map[string]any{"stage": "a whole sentence", "request_ids": map[string]any{"a b": "1", "x": "two words"}, "attempts": "five"},
			"null", redact.Drops{redact.DropWrongType: 3, redact.DropUnknownKey: 1},
		},
		"too many": {map[string]any{"attempts": many}, "", redact.Drops{redact.DropTooLarge: 5}},
	} {
		kept, lost := redact.Context(row.in)
		written, err := json.Marshal(kept)
		if err != nil || row.want != "" && string(written) != row.want || !maps.Equal(lost, row.lost) {
			t.Errorf("%s: %s, dropped %v, %v", name, written, lost, err)
		}
	}
}

// No secret gets into a context, under whatever key and in whatever map.
func TestContextHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for _, s := range redacttest.Samples(3) {
		in := map[string]any{"attempts": map[string]any{s.Text: 1}, "request_ids": map[string]any{s.Text: "x", "x": s.Text}}
		for _, key := range []string{"stage", "upstream", "request_id", "payload_id", "payload_hash", "worker", "idempotency_key", "other"} {
			in[key] = s.Text
		}
		kept, _ := redact.Context(in)
		written, _ := json.Marshal(kept)
		if strings.Contains(string(written), s.Secret) {
			t.Errorf("%s is in %s", s.Secret, written)
		}
	}
}
