package redact

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDetails has the rows of spec 003, governance of details.
func TestDetails(t *testing.T) {
	const uuid, ulid = "0190a6f2-1b2c-7def-8abc-0123456789ab", "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T"
	key := "rdb_" + strings.Repeat("k", 32)
	drop := func(reason string) Drops { return Drops{reason: 1} }
	for _, test := range []struct {
		name    string
		key     string
		in      any
		kept    any
		dropped Drops
	}{
		{"a bool", "retryable", true, true, nil},
		{"a bool that is no", "retryable", false, false, nil},
		{"not a bool", "retryable", "true", nil, drop(DropWrongType)},
		{"a label", "field", "items[0].price", "items[0].price", nil},
		{"a label that names a secret", "field", "password", "password", nil},
		{"the longest label", "field", strings.Repeat("f", 128), strings.Repeat("f", 128), nil},
		{"too long a label", "field", strings.Repeat("f", 129), nil, drop(DropTooLarge)},
		{"a sentence", "field", "select 1 from users", nil, drop(DropWrongType)},
		{"an empty label", "field", "", nil, drop(DropWrongType)},
		{"a key as a label", "field", key, nil, drop(DropSecret)},
		{"an address as a label", "field", "ada@example.org", nil, drop(DropSecret)},
		{"a float64", "limit", 100.0, int64(100), nil},
		{"a number as sent", "limit", json.Number("100"), int64(100), nil},
		{"a number with an exponent", "limit", json.Number("1e2"), int64(100), nil},
		{"an int", "window_sec", 60, int64(60), nil},
		{"an int64", "window_sec", int64(60), int64(60), nil},
		{"a fraction", "limit", 1.5, nil, drop(DropWrongType)},
		{"a fraction as sent", "limit", json.Number("1.5"), nil, drop(DropWrongType)},
		{"not a number", "limit", math.NaN(), nil, drop(DropWrongType)},
		{"too large for a float64", "limit", 1e300, nil, drop(DropWrongType)},
		{"not a number as sent", "limit", json.Number("x"), nil, drop(DropWrongType)},
		{"a number in a string", "limit", "100", nil, drop(DropWrongType)},
		{"a card number as a number", "limit", 4242424242424242, nil, drop(DropSecret)},
		{"an entity tag", "expected_etag", `W/"9f86d081"`, `W/"9f86d081"`, nil},
		{"a hash", "expected_etag", "9f86d081884c7d65", "9f86d081884c7d65", nil},
		{"a whole hash", "expected_etag", `"9f86d081884c7d659a2feaa0c55ad015"`, `"9f86d081884c7d65"`, nil},
		{"two words", "expected_etag", "two words", nil, drop(DropWrongType)},
		{"joined words", "expected_etag", "Write_to_John_Doe_about_his_diabetes", nil, drop(DropWrongType)},
		{"half a quotation", "expected_etag", `"9f86d081`, nil, drop(DropWrongType)},
		{"a key as a hash", "expected_etag", key, nil, drop(DropSecret)},
		{"a UUID", "existing_id", uuid, uuid, nil},
		{"a ULID", "existing_id", ulid, "0192a28f-c81f-47c1-53d0-3d34be8bf01a", nil},
		{"no id", "existing_id", "17", nil, drop(DropWrongType)},
		{"a number as an id", "existing_id", 17, nil, drop(DropWrongType)},
		{"nothing", "field", nil, nil, drop(DropWrongType)},
		{"an object", "field", map[string]any{"a": 1}, nil, drop(DropWrongType)},
		{"another key", "body", "x", nil, drop(DropUnknownKey)},
		{"another case", "Retryable", true, nil, drop(DropUnknownKey)},
	} {
		t.Run(test.name, func(t *testing.T) {
			kept, dropped := EventDetails().Apply(Default(), map[string]any{test.key: test.in})
			if !reflect.DeepEqual(kept[test.key], test.kept) || (test.kept == nil) != (len(kept) == 0) {
				t.Errorf("kept %v, want %v", kept, test.kept)
			}
			if !reflect.DeepEqual(dropped, test.dropped) {
				t.Errorf("dropped %v, want %v", dropped, test.dropped)
			}
		})
	}
}

// TestAllowListIsData applies another list, in whose order members are kept until
// the total is reached.
func TestAllowListIsData(t *testing.T) {
	list := AllowList{MaxValue: 10, MaxTotal: len(`{"b":"1234567890","a":12}`) + len(","), Keys: []Allowed{{"b", Label()}, {"a", Int()}, {"c", Bool()}}}
	in := map[string]any{"a": 12, "b": "1234567890", "c": true, "d": 1, "e": 2}
	for range 20 {
		kept, dropped := list.Apply(Default(), in)
		if want := (map[string]any{"a": int64(12), "b": "1234567890"}); !reflect.DeepEqual(kept, want) {
			t.Fatalf("kept %v, want %v", kept, want)
		}
		if want := (Drops{DropTooLarge: 1, DropUnknownKey: 2}); !reflect.DeepEqual(dropped, want) {
			t.Fatalf("dropped %v, want %v", dropped, want)
		}
	}
}

// TestDetailsAccountForEverything draws details: each member is kept or counted,
// what is kept fits, is clean, and is kept again.
func TestDetailsAccountForEverything(t *testing.T) {
	texts := []string{"field", "a b", strings.Repeat("x", 200), "\x00\x00", "0190a6f2-1b2c-7def-8abc-0123456789ab", "a@example.org"}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.MapOf(
			rapid.SampledFrom([]string{"retryable", "field", "limit", "window_sec", "expected_etag", "existing_id", "body", "sql", ""}),
			rapid.OneOf(rapid.Bool().AsAny(), rapid.Int().AsAny(), rapid.Float64().AsAny(), rapid.SampledFrom(texts).AsAny(), rapid.String().AsAny()),
		).Draw(t, "details")
		kept, dropped := EventDetails().Apply(Default(), in)
		count := len(kept)
		for _, n := range dropped {
			count += n
		}
		encoded, err := json.Marshal(kept)
		if err != nil || len(encoded) > 1024 || count != len(in) {
			t.Fatalf("kept %s (%v), dropped %v of %v", encoded, err, dropped, in)
		}
		if _, evidence := Default().Value(kept); evidence != nil {
			t.Fatalf("kept %v, of which %v is secret", kept, evidence)
		}
		if again, more := EventDetails().Apply(Default(), kept); more != nil || !reflect.DeepEqual(again, kept) {
			t.Fatalf("%v became %v (%v)", kept, again, more)
		}
	})
}

// The size of a value that is measured without writing it is that of its JSON.
func TestEncodedSize(t *testing.T) {
	t.Parallel()
	for _, value := range []any{
		true, false, int64(0), int64(-12), int64(1) << 62, "", "name", "items[0].price", "A_b-9.", "é", "<", "@", "[", "`", "{", "\x7f", "W/\"x\"", "a b",
	} {
		want, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := encodedSize(value, plain(value)); got != len(want) || err != nil {
			t.Errorf("%v: %d, %v, want %d", value, got, err, len(want))
		}
		if text := plain(value); text != fmt.Sprint(value) {
			t.Errorf("%v is %q as text", value, text)
		}
	}
}

// The zero id identifies nothing, and its text would be empty.
func TestZeroIDIsDropped(t *testing.T) {
	for _, zero := range []string{"00000000-0000-0000-0000-000000000000", "00000000000000000000000000"} {
		kept, dropped := EventDetails().Apply(Default(), map[string]any{"existing_id": zero})
		if kept != nil || dropped[DropWrongType] != 1 {
			t.Errorf("%s is kept as %v, dropped %v", zero, kept, dropped)
		}
	}
}
