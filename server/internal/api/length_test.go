package api_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
)

// Lists are counted while they are read: 8 MiB of empty items, or of members of
// any names, are refused at the first one too many, and never become values.
func TestLengthsAreCheckedWhileDecoding(t *testing.T) { //nolint:paralleltest // it measures memory
	w := newWorld(t)
	const size = 8<<20 - 20<<10
	items := func(begin, item, end string) string {
		return begin + strings.Repeat(item+",", size/(len(item)+1)) + item + end
	}
	for name, row := range map[string]struct{ path, body, field string }{
		"reports":        {"/v1/errors/batch", items(`{"reports":[`, `{}`, `]}`), "reports"},
		"results":        {"/v1/retries/results", items(`{"results":[`, `{}`, `]}`), "results"},
		"details":        {"/v1/errors/batch", items(`{"reports":[{"details":{`, `"":0`, `}}]}`), "reports[0].details"},
		"nested details": {"/v1/errors/batch", items(`{"reports":[{"details":{"x":[`, `[]`, `]}}]}`), "reports[0].details.x"},
		"many details":   {"/v1/errors/batch", items(`{"reports":[`, `{"details":{"a":`+items5k()+`}}`, `]}`), "body"},
		"events":         {"/v1/events", items(`{"events":[`, `{}`, `]}`), ""},
		"event list":     {"/v1/events", items(`[`, `{}`, `]`), ""},
		"details of one": {"/v1/events", items(`{"code":"TIMEOUT","details":{`, `"":0`, `}}`), "details"},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			r := w.request("admin", http.MethodPost, row.path, row.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := w.answered(r)
			runtime.ReadMemStats(&after)
			if row.field == "" {
				got.failed(http.StatusRequestEntityTooLarge, fault.CodePayloadTooLarge)
			} else {
				got.invalid(row.field, "items")
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used >= 64 {
				t.Errorf("refusing it took %d MiB", used)
			}
		})
	}
}

// items5k is a list of as many values as one list may have, and half.
func items5k() string { return "[" + strings.Repeat("0,", 5000) + "0]" }
