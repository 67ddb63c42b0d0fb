package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// Spec 003, governance and ingest: six keys of details are kept, with their types
// and small; the rest is dropped. A tenant is kept as a keyed hash.
func TestSpec003Details(t *testing.T) {
	onBothStores(t, func(w *world) {
		w.post("/v1/events", object{"code": "rate_limited", "service": "api", "tenant": "acme", "details": object{
			"retryable": true, "field": "email", "limit": 100, "window_sec": 60, "expected_etag": "abc123",
			"existing_id": "0198c0de-0000-7000-8000-000000000001",
			"body":        "a whole request", "sql": "select 1",
		}}, "Prefer", "respond-sync").ok()
		w.post("/v1/events", object{"code": "rate_limited", "service": "api", "details": object{"limit": "a hundred", "retryable": false}}, "Prefer", "respond-sync").ok()
		var page recoup.EventPage
		w.get("/v1/events?service=api").ok(&page)
		if len(page.Events) != 2 {
			w.Fatalf("there are %d events", len(page.Events))
		}
		full, short := page.Events[1], page.Events[0]
		if len(full.Details) < len(short.Details) { // they may have come in the same millisecond
			full, short = short, full
		}
		want := map[string]any{
			"retryable": true, "field": "email", "limit": 100., "window_sec": 60., "expected_etag": "abc123",
			"existing_id": "0198c0de-0000-7000-8000-000000000001",
		}
		if !reflect.DeepEqual(full.Details, want) {
			w.Errorf("kept are %v", full.Details)
		}
		if !reflect.DeepEqual(short.Details, map[string]any{"retryable": false}) {
			w.Errorf("of the wrong type is kept %v", short.Details)
		}
		if full.TenantHash == "" || full.TenantHash == "acme" || len(full.TenantHash) < 64 {
			w.Errorf("the tenant is kept as %q", full.TenantHash)
		}
	})
}

// Spec 003, ingest: details that are too large or off the list are dropped, their
// event stands, and how many were dropped for which reason is counted.
func TestSpec003Drops(t *testing.T) {
	const short, long = 128, 129 // bytes of a value
	onBothStores(t, func(w *world) {
		dropped := map[string]int64{}
		for i, row := range []struct {
			details object
			kept    map[string]any
			dropped map[string]int64
		}{
			{object{"field": strings.Repeat("a", short)}, map[string]any{"field": strings.Repeat("a", short)}, nil},
			{object{"field": strings.Repeat("a", long), "limit": 5}, map[string]any{"limit": 5.}, map[string]int64{"details_too_large": 1}},
			{object{"field": strings.Repeat("ä", short/2+1)}, nil, map[string]int64{"details_too_large": 1}},
			{object{"expected_etag": strings.Repeat("a", 4<<10), "field": "email"}, map[string]any{"field": "email"}, map[string]int64{"details_too_large": 1}},
			{object{"stack": "at main.go:7", "body": object{"a": 1}, "retryable": true}, map[string]any{"retryable": true}, map[string]int64{"details_unknown_key": 2}},
			{object{"retryable": "yes", "window_sec": 1.5, "limit": 1}, map[string]any{"limit": 1.}, map[string]int64{"details_wrong_type": 2}},
		} {
			service := fmt.Sprint("api-", i)
			w.post("/v1/events", object{"code": "rate_limited", "service": service, "details": row.details}, "Prefer", "respond-sync").ok()
			var page recoup.EventPage
			if w.get("/v1/events?service=" + service).ok(&page); len(page.Events) != 1 {
				w.Fatalf("%v: there are %d events", row.details, len(page.Events))
			}
			kept := page.Events[0].Details
			if _, given := row.kept["retryable"]; !given {
				delete(kept, "retryable") // which the registry fills in
			}
			if len(kept)+len(row.kept) > 0 && !reflect.DeepEqual(kept, row.kept) {
				w.Errorf("of %v is kept %v, want %v", row.details, kept, row.kept)
			}
			for reason, n := range row.dropped {
				dropped[reason] += n
			}
		}
		w.drops(w.T, dropped)
	})
}

// Spec 003, operations: the rollup counts by day, service and code; events go after
// 90 days, and their counts stay for two years.
func TestSpec003RollupAndRetention(t *testing.T) {
	onBothStores(t, func(w *world) {
		for range 3 {
			w.post("/v1/events", object{"code": "NETWORK_TIMEOUT", "service": "api"}, "Prefer", "respond-sync").ok()
		}
		first := w.clock()
		daily := func() (n int64) {
			w.Helper()
			w.run("rollups")
			var counts recoup.DailyCounts
			w.get("/v1/stats/daily?from=" + first.Format(time.RFC3339) + "&to=" + first.Add(day).Format(time.RFC3339)).ok(&counts)
			for _, c := range counts.Days {
				n += c.Count
				if c.Service != "api" || c.Code != "NETWORK_TIMEOUT" || c.Retryable != c.Count {
					w.Errorf("the rollup has %+v", c)
				}
			}
			return n
		}
		events := func() int {
			var page recoup.EventPage
			w.get("/v1/events?service=api&from=" + first.Add(-time.Hour).Format(time.RFC3339)).ok(&page)
			return len(page.Events)
		}
		if daily() != 3 || events() != 3 {
			w.Fatalf("%d events are counted as %d", events(), daily())
		}
		w.pass(89 * day)
		if w.run("events"); events() != 3 {
			w.Error("events went before their time")
		}
		w.pass(33 * day) // whole months go
		w.run("events")
		w.run("rollup-retention")
		if events() != 0 || daily() != 3 {
			w.Errorf("after 122 days there are %d events and a count of %d", events(), daily())
		}
		w.pass(730 * day)
		w.run("rollup-retention")
		if n := daily(); n != 0 {
			w.Errorf("after two years more there is a count of %d", n)
		}
	})
}
