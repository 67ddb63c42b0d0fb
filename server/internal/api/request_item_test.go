package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// fieldsOf returns the paths of what is wrong with an item.
func fieldsOf(t *testing.T, failure []byte) (fields []string) {
	t.Helper()
	var e fault.Error
	decodeInto(t, failure, &e)
	for _, f := range e.Fields() {
		fields = append(fields, f.Field)
	}
	return fields
}

// One bad item never loses a batch (L7): the good ones are stored, the bad ones are
// answered one by one with the path that the client wrote, and counted.
func TestOneBadItemNeverLosesABatch(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		const good, badID = `{"code":"TIMEOUT","service":"s"}`, `{"code":"TIMEOUT","service":"s","event_id":"17"}`
		const badTS, old = `{"code":"TIMEOUT","service":"s","ts":"yesterday","http_status":"500"}`, `{"code":"TIMEOUT","service":"s","ts":"2001-01-01T00:00:00Z"}`
		items := []string{good, badID, badTS, `17`, old, good}
		for name, row := range map[string]struct {
			media, body string
			fields      [4]string
		}{
			"under a name": {"application/json", `{"events":[` + strings.Join(items, ",") + `]}`,
				[4]string{"events[1].event_id", "events[2].ts events[2].http_status", "events[3]", "events[4].ts"}},
			"a list": {"application/json", `[` + strings.Join(items, ",") + `]`, [4]string{"[1].event_id", "[2].ts [2].http_status", "[3]", "[4].ts"}},
			"lines":  {lines, strings.Join(items, "\n"), [4]string{"event_id", "ts http_status", "body", "ts"}},
		} {
			var out recoup.EventsAccepted
			got := w.do("ingest", http.MethodPost, "/v1/events", row.body, "Content-Type", row.media, "Prefer", "respond-sync").ok(&out)
			if out.Accepted != 2 || out.NRefused != 4 || !out.Durable || len(out.Refused) != 4 {
				t.Fatalf("%s: %s", name, got.Body)
			}
			for i, r := range out.Refused {
				if fields := strings.Join(fieldsOf(t, r.Failure), " "); r.Index != i+1 || fields != row.fields[i] {
					t.Errorf("%s: item %d is wrong in %q, want %q", name, r.Index, fields, row.fields[i])
				}
			}
		}
		var page recoup.EventPage
		w.get("/v1/events?service=s").ok(&page)
		if len(page.Events) != 6 {
			t.Errorf("stored are %d events", len(page.Events))
		}
		w.drops(t, map[string]int64{"bad_id": 3, "bad_time": 3, "malformed": 6})
	})
}

// Of each bad item everything is said at once, its form and its meaning, with what the
// client sent.
func TestBadItemListsEverything(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		const good, bad = `{"code":"TIMEOUT","service":"s"}`, `{"code":"b d","service":" s","ts":"yesterday","event_id":"17"}`
		var events recoup.EventsAccepted
		w.do("ingest", http.MethodPost, "/v1/events", `{"events":[`+good+`,`+bad+`]}`).ok(&events)
		wrong(t, events.Refused[0].Failure, map[string]any{
			"events[1].ts": "yesterday", "events[1].code": "b d", "events[1].service": " s", "events[1].event_id": "17",
		})
		var lined recoup.EventsAccepted
		w.do("ingest", http.MethodPost, "/v1/events", good+"\n"+bad, "Content-Type", lines).ok(&lined)
		wrong(t, lined.Refused[0].Failure, map[string]any{"ts": "yesterday", "code": "b d", "service": " s", "event_id": "17"})

		var reports recoup.ReportedBatch
		w.do("ingest", http.MethodPost, "/v1/errors/batch", `{"reports":[{"table":"`+dol+`","entity_id":"e1","code":"TIMEOUT"},
			{"table":"`+dol+`","entity_id":7,"code":"b d","severity":"BAD"},
			{"table":"`+dol+`","entity_id":" e3","code":"TIMEOUT","severity":"BAD"}]}`).ok(&reports)
		wrong(t, reports.Items[1].Failure, map[string]any{"reports[1].entity_id": 7.0, "reports[1].code": "b d", "reports[1].severity": "BAD"})
		wrong(t, reports.Items[2].Failure, map[string]any{"reports[2].entity_id": " e3", "reports[2].severity": "BAD"})
	})
}

// wrong holds the bad fields of an item, with their values, to what is wanted.
func wrong(t *testing.T, failure []byte, want map[string]any) {
	t.Helper()
	var e fault.Error
	decodeInto(t, failure, &e)
	got := map[string]any{}
	for _, f := range e.Fields() {
		got[f.Field] = f.Value
	}
	if !maps.Equal(got, want) {
		t.Errorf("wrong are %v, want %v", got, want)
	}
}

// drops holds what was counted as dropped to what is wanted.
func (w *world) drops(t *testing.T, want map[string]int64) {
	t.Helper()
	var got map[string]int64
	for range 100 { // the writer brings counts to the store every second, and at once when it is asked to
		var drops recoup.DropCounts
		w.get("/v1/stats/drops").ok(&drops)
		got = map[string]int64{}
		for _, d := range drops.Drops {
			if d.Day != w.clock().Format(time.DateOnly) {
				t.Errorf("the day is %q", d.Day)
			}
			got[d.Reason] += d.N
		}
		if maps.Equal(got, want) {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	if !maps.Equal(got, want) {
		t.Errorf("dropped are %v, want %v", got, want)
	}
}

// The same for reports.
func TestOneBadReportNeverLosesABatch(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		body := `{"reports":[{"table":"` + dol + `","entity_id":"e1","code":"TIMEOUT"},
			{"table":17,"entity_id":"e2","code":"TIMEOUT","severty":"LOW"},
			{"table":"` + dol + `","entity_id":"e3","code":"not a code"},
			null,
			{"table":"` + dol + `","entity_id":"e5","code":"TIMEOUT"}]}`
		var out recoup.ReportedBatch
		got := w.do("ingest", http.MethodPost, "/v1/errors/batch", body).ok(&out)
		if len(out.Items) != 5 || out.Items[0].Result == nil || out.Items[4].Result == nil {
			t.Fatalf("got %s", got.Body)
		}
		for i, want := range map[int][]string{
			1: {"reports[1].table", "reports[1].severty"}, 2: {"reports[2].code"}, 3: {"reports[3]"},
		} {
			if fields := fieldsOf(t, out.Items[i].Failure); out.Items[i].Result != nil || !slices.Equal(fields, want) {
				t.Errorf("item %d is wrong in %v, want %v", i, fields, want)
			}
		}
		w.do("ingest", http.MethodPost, "/v1/errors/batch", `{"reports":[{"table":17}],"more":1}`).failed(http.StatusBadRequest, fault.CodeValidationError)
	})
}

// The retryable rate is one number: what spec 003's query makes of the details, the
// rollups and the endpoint. An event that does not say has the registry's word.
func TestRetryableRateIsOneNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		w.do("ingest", http.MethodPost, "/v1/events", `{"events":[
			{"code":"RATE_LIMIT_EXCEEDED","service":"s"},
			{"code":"RATE_LIMIT_EXCEEDED","service":"s","details":{"limit":3}},
			{"code":"RATE_LIMIT_EXCEEDED","service":"s","details":{"retryable":false}},
			{"code":"VALIDATION_ERROR","service":"s"},
			{"code":"VALIDATION_ERROR","service":"s","details":{"retryable":true}},
			{"code":"SOMETHING_NEW","service":"s","details":{"prompt":"dropped"}}]}`, "Prefer", "respond-sync").ok()
		w.report(dol, "e1", func(r *recoup.Report) { r.Service, r.Code = "s", "VALIDATION_ERROR" })
		var page recoup.EventPage
		w.get("/v1/events?service=s").ok(&page)
		retryable := int64(0)
		for _, e := range page.Events {
			yes, said := e.Details["retryable"].(bool)
			if !said {
				t.Errorf("%s does not say whether it is retryable: %v", e.Code, e.Details)
			}
			if yes {
				retryable++
			}
		}
		var rates recoup.RetryableRates
		w.get("/v1/stats/retryable-rate?service=s").ok(&rates)
		if len(rates.Services) != 1 || rates.Services[0].Total != int64(len(page.Events)) || rates.Services[0].Retryable != retryable || retryable < 3 {
			t.Errorf("the query counts %d of %d, the endpoint %+v", retryable, len(page.Events), rates)
		}
		var daily recoup.DailyCounts
		w.get("/v1/stats/daily?service=s").ok(&daily)
		rollup := int64(0)
		for _, d := range daily.Days {
			rollup += d.Retryable
			if d.Day != w.clock().Format(time.DateOnly) {
				t.Errorf("the day is %q", d.Day)
			}
		}
		if rollup != retryable {
			t.Errorf("the rollup counts %d, the query %d", rollup, retryable)
		}
	})
}

// An event is recognised by its id, with or without a time: a random UUID that comes
// again is the event it was, dated when it was first seen.
func TestEventsAreRecognisedByTheirID(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		const id, other = "6f0c9d1e-3b1a-4c52-9b7e-2d1f0a9c8b7d", "0b9c8d7e-6f5a-4b3c-8d2e-1f0a9b8c7d6e"
		const without, with = `{"event_id":"` + id + `","code":"TIMEOUT","service":"s"}`, `{"event_id":"` + id + `","code":"TIMEOUT","service":"s","ts":"2026-02-02T09:59:00Z"}`
		send := func(body string) {
			w.do("ingest", http.MethodPost, "/v1/events", body, "Content-Type", lines, "Prefer", "respond-sync").ok()
			w.wait(time.Minute)
		}
		first := w.clock()
		send(without)
		send(without + "\n" + `{"event_id":"` + other + `","code":"TIMEOUT","service":"s"}` + "\n" + without)
		send(with)
		send(without)
		var page recoup.EventPage
		w.get("/v1/events?service=s").ok(&page)
		if len(page.Events) != 2 || page.Events[1].ID.String() != id || !page.Events[1].TS.Equal(first) {
			t.Errorf("stored are %+v", page.Events)
		}
		var rates recoup.RetryableRates
		w.get("/v1/stats/retryable-rate?service=s").ok(&rates)
		if len(rates.Services) != 1 || rates.Services[0].Total != 2 {
			t.Errorf("counted are %+v", rates)
		}
	})
}
