package api_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
)

// filled draws a value of a type, every field of it: whoever adds one to an answer
// finds out here that it has to be written, too.
func filled(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]time.Time{
			{}, time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC), time.Date(2026, 2, 2, 9, 0, 0, 123456000, time.FixedZone("", 5400)),
		}).Draw(t, "time")))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]json.RawMessage{nil, {}, json.RawMessage(`{"error_code":"A"}`), json.RawMessage(` {"a": "<"} `)}).Draw(t, "raw")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(-1, 3).Draw(t, "length")
		if n < 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			filled(t, v.Index(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			filled(t, v.Elem())
		}
	case reflect.Array: // an id
		v.Index(0).SetUint(rapid.SampledFrom([]uint64{0, 0x0f}).Draw(t, "id"))
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "outreach.dol_errors", "<", ">", "&", "\"", "\\", "é\u2028", "\x7f", "\x01", "a\xffb"}).Draw(t, "text"))
	case reflect.Int:
		v.SetInt(rapid.SampledFrom([]int64{0, 7, -12345}).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	default:
		t.Fatalf("what is a %v?", v.Type())
	}
}

// Answers that are written by hand have the same bytes as encoding/json writes.
func TestAnswersAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	for _, kind := range []reflect.Type{reflect.TypeFor[recoup.PromotionStatus](), reflect.TypeFor[recoup.RetryClaimed](), reflect.TypeFor[recoup.ActResultBatch]()} {
		t.Run(kind.Name(), rapid.MakeCheck(func(t *rapid.T) {
			v := reflect.New(kind).Elem()
			filled(t, v)
			got, err := api.Encode(v.Interface())
			want, wantErr := json.Marshal(v.Interface())
			if string(got) != string(want) || err != nil || wantErr != nil {
				t.Fatalf("%s, %v\nwant\n%s, %v", got, err, want, wantErr)
			}
		}))
	}
}

// A time that JSON does not have fails the answer.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	never := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, out := range []any{
		recoup.PromotionStatus{OpensAt: never}, recoup.PromotionStatus{Blockers: []recoup.Blocker{{Since: never}}},
		recoup.RetryClaimed{Errors: []recoup.Error{{CreatedAt: never}, {}}},
		recoup.ActResultBatch{Items: []recoup.Item[recoup.ActResult]{{Failure: json.RawMessage("{")}}},
	} {
		if b, err := api.Encode(out); err == nil {
			t.Errorf("%T is written as %s", out, b)
		}
	}
}
