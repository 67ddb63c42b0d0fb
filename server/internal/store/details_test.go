package store_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Details are written to the same bytes as encoding/json writes, however they are.
func TestDetailsAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"retryable", "limit", "field", "", "b", "a", "items[0].price", "W/\"x\"", "<a>", "é", "\x7f", "a\x00", "a\\b", "\xff", "&", "/", "z1", "z2", "z3", "z4"})
	value := rapid.SampledFrom([]any{true, false, int64(0), int64(-1 << 62), "name", "<b>", "\u2028", 1.5, nil, 3, []any{"x"}})
	rapid.Check(t, func(t *rapid.T) {
		details := rapid.MapOfN(text, value, 1, 12).Draw(t, "details")
		want, err := json.Marshal(details)
		if got := store.EncodeDetails(details); err != nil || string(got) != string(want) {
			t.Fatalf("%s, want %s, %v", got, want, err)
		}
	})
}
