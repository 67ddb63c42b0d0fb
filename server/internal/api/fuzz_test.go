package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/ledger"
)

// contractual fails unless an error is one of the contract that a caller caused.
func contractual(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Definition().HTTPStatus < 400 || e.Definition().HTTPStatus >= 500 || e.Message == "" {
		t.Fatalf("got %v", err)
	}
}

// FuzzEvents: whatever comes is a batch within bounds, or is refused in the
// contract. A batch that is taken is JSON, and reads the same once it was written.
func FuzzEvents(f *testing.F) {
	for _, body := range []string{
		`{"code":"TIMEOUT","service":"s"}`, `[{"code":"TIMEOUT"}]`, `{"events":[{"code":"A","details":{"limit":3}},{}]}`,
		"{\"code\":\"A\"}\n\n{\"code\":\"B\"}\n", `{"events":null}`, `{"events":[],"code":"A"}`, `null`, `[null]`, "[[[[", `{"code":"\u0041","Code":1}`,
		`{"event_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","ts":"2026-02-02T09:00:00Z"}`, "\xff", `{"a":{"b":[1,2,{"c":null}]}}`, `{"http_status":1e400}`,
	} {
		f.Add(false, []byte(body))
		f.Add(true, []byte(body))
	}
	f.Fuzz(func(t *testing.T, perLine bool, body []byte) {
		media := fault.MediaJSON
		if perLine {
			media = lines
		}
		batch, unknown, err := api.DecodeEvents(media, body)
		if err != nil {
			contractual(t, err)
			return
		}
		if len(batch) < 1 || len(batch) > api.MaxEvents || unknown < 0 || !perLine && !json.Valid(body) {
			t.Fatalf("took %d events with %d unknown fields of %q", len(batch), unknown, body)
		}
		written, err := json.Marshal(batch)
		if err != nil {
			t.Fatalf("what was read of %q cannot be written: %v", body, err)
		}
		again, none, err := api.DecodeEvents(fault.MediaJSON, written)
		if err != nil || none != 0 || len(again) != len(batch) {
			t.Fatalf("%q was read as %s, and that as %v, %v", body, written, again, err)
		}
		for i := range batch {
			if !same(batch[i], again[i]) {
				t.Fatalf("event %d of %q changed from %+v to %+v", i, body, batch[i], again[i])
			}
		}
	})
}

func same(a, b ledger.Incoming) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
