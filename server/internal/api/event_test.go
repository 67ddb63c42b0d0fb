package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api"
)

const lines = "application/x-ndjson"

// Events come as one, as a list, under a name, or one per line.
func TestEventForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := func(i int) string {
		return fmt.Sprintf(`{"event_id":"019c1d94-8a80-7000-8000-%012d","code":"network_timeout","service":"nightly","ts":"2026-02-02T09:30:00Z"}`, i)
	}
	for name, row := range map[string]struct {
		media, body string
		n           int
	}{
		"one":               {"application/json", one(1), 1},
		"a list":            {"application/json", "[" + one(2) + "," + one(3) + "]", 2},
		"under a name":      {"application/json; charset=UTF-8", ` { "events" : [` + one(4) + "," + one(5) + "] }\n", 2},
		"lines":             {lines, one(6) + "\n\n" + one(7) + "\r\n" + one(8), 3},
		"lines, other name": {"application/jsonl", one(9) + "\n", 1},
	} {
		var out recoup.EventsAccepted
		got := w.do("ingest", http.MethodPost, "/v1/events", row.body, "Content-Type", row.media, "Prefer", "wait=5, Respond-Sync").ok(&out)
		if out.Accepted != row.n || !out.Durable || got.Code != http.StatusAccepted || got.Header().Get("Preference-Applied") != "respond-sync" {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	var page recoup.EventPage
	w.get("/v1/events?service=nightly").ok(&page)
	if len(page.Events) != 9 || page.Events[0].Code != "NETWORK_TIMEOUT" {
		t.Errorf("stored are %+v", page)
	}
	var again recoup.EventsAccepted
	w.do("ingest", http.MethodPost, "/v1/events", one(1), "Prefer", "respond-sync").ok(&again)
	w.get("/v1/events?service=nightly").ok(&page)
	if len(page.Events) != 9 || again.Accepted != 1 {
		t.Errorf("a repeat left %d events", len(page.Events))
	}
}

// What is wrong with one event of many takes nothing from the others.
func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out recoup.EventsAccepted
	got := w.do("ingest", http.MethodPost, "/v1/events", object{"events": []object{
		{"code": "TIMEOUT", "service": "s"},
		{"code": "not a code", "service": "s"},
		{"code": "TIMEOUT"},
		{"code": "TIMEOUT", "service": "s", "ts": "2001-01-01T00:00:00Z"},
		{"code": "TIMEOUT", "service": "s", "http_status": 99},
		{"code": "TIMEOUT", "service": "s\u0000"},
		{"code": "NOBODY_KNOWS_IT", "service": "s", "message": "left out", "details": object{"limit": 3, "prompt": "left out"}},
	}}, "Prefer", "respond-sync").ok(&out)
	if out.Accepted != 2 || out.NRefused != 5 || !out.Durable || out.Dropped["unknown_field"] != 1 {
		t.Errorf("got %s", got.Body)
	}
	for i, r := range out.Refused {
		var e fault.Error
		decodeInto(t, r.Failure, &e)
		if r.Index != i+1 || e.Code != fault.CodeValidationError || len(e.Fields()) != 1 || e.RequestID == "" {
			t.Errorf("refused %d: %s", r.Index, r.Failure)
		}
	}
	var page recoup.EventPage
	w.get("/v1/events?code=NOBODY_KNOWS_IT").ok(&page)
	if len(page.Events) != 1 || page.Events[0].Code != "UNREGISTERED_CODE" || page.Events[0].ReportedCode != "NOBODY_KNOWS_IT" || len(page.Events[0].Details) != 2 {
		t.Errorf("stored are %+v", page)
	}
	w.do("ingest", http.MethodPost, "/v1/events", object{"code": "TIMEOUT"}).invalid("service", "required")
}

// A body that is no batch is refused whole, with the place where it breaks.
func TestEventsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := `{"code":"TIMEOUT","service":"s"}`
	for name, row := range map[string]struct {
		media, body string
		status      int
		code        recoup.Code
	}{
		"nothing":           {"application/json", " ", 400, fault.CodeMalformedJSON},
		"no lines":          {lines, "\n\n", 400, fault.CodeMalformedJSON},
		"an empty list":     {"application/json", "[]", 400, fault.CodeValidationError},
		"no events":         {"application/json", `{"events":[]}`, 400, fault.CodeValidationError},
		"a number":          {"application/json", "17", 400, fault.CodeValidationError},
		"half":              {"application/json", `{"events":[` + good, 400, fault.CodeMalformedJSON},
		"a wrong type":      {"application/json", `{"code":17,"service":"s"}`, 400, fault.CodeValidationError},
		"a wrong id":        {"application/json", `{"code":"TIMEOUT","service":"s","correlation_id":"x"}`, 400, fault.CodeValidationError},
		"a field twice":     {"application/json", `[{"code":"TIMEOUT","code":"CONFLICT","service":"s"}]`, 400, fault.CodeValidationError},
		"a field hidden":    {lines, `{"code":"TIMEOUT","c\u006fde":"CONFLICT","service":"s"}`, 400, fault.CodeValidationError},
		"an event and many": {"application/json", `{"service":"s","events":[` + good + `]}`, 400, fault.CodeValidationError},
		"a bad line":        {lines, good[1:], 400, fault.CodeMalformedJSON},
		"a long line":       {lines, "{\"code\":\"" + strings.Repeat("A", api.MaxEventLine) + `"}`, 413, fault.CodePayloadTooLarge},
		"too many":          {"application/json", "[" + strings.Repeat("{},", api.MaxEvents) + "{}]", 413, fault.CodePayloadTooLarge},
		"too many lines":    {lines, strings.Repeat("{}\n", api.MaxEvents+1), 413, fault.CodePayloadTooLarge},
	} {
		e := w.do("ingest", http.MethodPost, "/v1/events", row.body, "Content-Type", row.media).failed(row.status, row.code)
		if strings.HasSuffix(name, "line") && e.Details["line"] != 1.0 {
			t.Errorf("%s: details are %v", name, e.Details)
		}
	}
	var page recoup.EventPage
	w.get("/v1/events").ok(&page)
	if len(page.Events) != 0 {
		t.Errorf("stored are %+v", page)
	}
}

// What all events of a request share may come with it, and what a client had to
// drop is counted once.
func TestEventHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trace := "4bf92f3577b34da6a3ce929d0e0e4736"
	w.do("ingest", http.MethodPost, "/v1/events", object{"code": "TIMEOUT"}, "Prefer", "respond-sync",
		"X-Recoup-Service", "nightly", "X-Recoup-Region", "eu-1", "X-Recoup-Dropped", "17", "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01").ok()
	var page recoup.EventPage
	w.get("/v1/events").ok(&page)
	if e := page.Events[0]; e.Service != "nightly" || e.Region != "eu-1" || strings.ReplaceAll(e.CorrelationID.String(), "-", "") != trace {
		t.Errorf("stored %+v", e)
	}
	var made recoup.Reported
	w.post("/v1/errors", recoup.Report{Table: dol, EntityID: w.entity(), Code: "NETWORK_TIMEOUT"}, "Traceparent", "00-"+trace+"-00f067aa0ba902b7-01").ok(&made)
	w.get("/v1/events?correlation_id=" + made.Error.CorrelationID.String()).ok(&page)
	if strings.ReplaceAll(made.Error.CorrelationID.String(), "-", "") != trace || len(page.Events) != 2 {
		t.Errorf("an error of the same trace: %s, with the events %+v", made.Error.CorrelationID, page.Events)
	}
	for _, bad := range []string{"-1", "many", "1e9", "99999999999999", ""} {
		w.do("ingest", http.MethodPost, "/v1/events", object{"code": "TIMEOUT", "service": "s"}, "X-Recoup-Dropped", bad).ok()
	}
	w.do("ingest", http.MethodPost, "/v1/events", object{"code": "TIMEOUT"}, "X-Recoup-Dropped", "5").invalid("service", "required")
	if totals := w.get("/metrics").Body.String(); !strings.Contains(totals, `recoup_ledger_dropped_total{reason="client_buffer_full"} 17`) {
		t.Errorf("the metrics are %s", totals)
	}
}

// Statistics count what was stored, and only what can be stored is asked for.
func TestStats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.do("ingest", http.MethodPost, "/v1/events", object{"code": "TIMEOUT", "service": "s"}, "Prefer", "respond-sync").ok()
	}
	w.do("ingest", http.MethodPost, "/v1/events", object{"code": "VALIDATION_ERROR", "service": "s"}, "Prefer", "respond-sync").ok()
	if err := w.store.FoldRollups(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wait(time.Minute)
	var top recoup.TopCodes
	w.do("reader", http.MethodGet, "/v1/stats/top-codes?hours=1&limit=1", nil).ok(&top)
	if len(top.Codes) != 1 || top.Codes[0] != (recoup.CodeCount{Code: "TIMEOUT", Count: 3}) || !top.To.Equal(w.clock()) {
		t.Errorf("top codes are %+v", top)
	}
	var rates recoup.RetryableRates
	w.get("/v1/stats/retryable-rate?service=s").ok(&rates)
	if len(rates.Services) != 1 || rates.Services[0] != (recoup.ServiceRate{Service: "s", Retryable: 3, Total: 4, Percent: 75}) {
		t.Errorf("rates are %+v", rates)
	}
	var daily recoup.DailyCounts
	w.get("/v1/stats/daily?code=timeout&from=2026-02-01T00:00:00Z&to=2026-02-03T00:00:00Z").ok(&daily)
	if len(daily.Days) != 1 || daily.Days[0].Count != 3 || daily.Days[0].Day != epoch.Format(time.DateOnly) {
		t.Errorf("daily counts are %+v", daily)
	}
	var export recoup.EventExport
	w.do("reader", http.MethodGet, "/v1/events/export", nil).ok(&export)
	if len(export.Days) != 2 || len(export.Events) != 0 {
		t.Errorf("exported are %+v", export)
	}
	w.get("/v1/events/export?rows=true").ok(&export)
	if len(export.Events) != 4 {
		t.Errorf("exported are %d rows", len(export.Events))
	}
	e := w.do("operator", http.MethodGet, "/v1/events/export?rows=true", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	if e.Details["role"] != "operator" {
		t.Errorf("details are %v", e.Details)
	}
	for _, path := range []string{"daily", "drops", "retryable-rate"} {
		w.get("/v1/stats/"+path+"?from=2026-02-03T00:00:00Z&to=2026-02-02T00:00:00Z").invalid("from", "range")
		w.get("/v1/stats/"+path+"?from=0000-01-01T00:00:00Z").invalid("from", "range")
	}
	w.get("/v1/stats/top-codes?hours=0").invalid("hours", "range")
	w.get("/v1/stats/top-codes?hours=2161").invalid("hours", "range")
}
