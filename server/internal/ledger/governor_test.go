package ledger_test

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// govern decides about a batch in a context that does not end.
func govern(g *ledger.Governor, batch []ledger.Incoming) ledger.Governed {
	got, err := g.Govern(context.Background(), epoch(), batch)
	if err != nil {
		panic(err)
	}
	return got
}

// change returns the clean event with something else in it.
func change(f func(*ledger.Incoming)) ledger.Incoming {
	in := clean()
	f(&in)
	return in
}

// accepted governs one event that must be accepted.
func accepted(t *testing.T, in ledger.Incoming) (store.Event, map[string]int64) {
	t.Helper()
	g, tally := newGovernor(t)
	got := govern(g, []ledger.Incoming{in})
	if len(got.Refused) > 0 {
		t.Fatalf("%+v is refused: %v", in, got.Refused[0].Err.Fields())
	}
	if len(got.Events) != 1 || got.IDs[0] != got.Events[0].ID {
		t.Fatalf("got %+v", got)
	}
	return got.Events[0], tally.Totals()
}

func TestCleanEvent(t *testing.T) {
	t.Parallel()
	id, err := recoup.ParseID(clean().IDText)
	if err != nil {
		t.Fatal(err)
	}
	got, dropped := accepted(t, clean())
	hash, key := newTenants(t).Hash("acme")
	want := store.Event{TenantHash: hash, TenantKey: key, Event: recoup.Event{
		ID: id, Code: "RATE_LIMIT_EXCEEDED", CorrelationID: recoup.ID{1, 2, 3}, Service: "billing",
		Endpoint: "POST /v1/invoices/{id}", HTTPStatus: 429, Region: "eu-west-1", ExternalService: "millionverifier",
		TS: epoch(), Details: map[string]any{"retryable": true, "limit": int64(100)},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if len(dropped) > 0 {
		t.Errorf("dropped %v", dropped)
	}
}

func TestCodesAreFolded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ sent, code, reported recoup.Code }{
		{"NETWORK_TIMEOUT", "NETWORK_TIMEOUT", ""},
		{"network_timeout", "NETWORK_TIMEOUT", ""},
		{"validation_failed", "VALIDATION_ERROR", ""},
		{"rate_limited", "RATE_LIMIT_EXCEEDED", ""},
		{"already_exists", "DUPLICATE_RECORD", ""},
		{"stale_read", "STALE_READ", ""},
		{"out_of_paper", "UNREGISTERED_CODE", "OUT_OF_PAPER"},
		{"UNREGISTERED_CODE", "UNREGISTERED_CODE", ""},
	} {
		e, dropped := accepted(t, change(func(in *ledger.Incoming) { in.Code = row.sent }))
		if e.Code != row.code || e.ReportedCode != row.reported || len(dropped) > 0 {
			t.Errorf("%s is kept as %s (%s), dropped %v", row.sent, e.Code, e.ReportedCode, dropped)
		}
	}
}

// TestTimes holds events to the order in which their time is looked for.
func TestTimes(t *testing.T) {
	t.Parallel()
	const (
		ulid   = "01KGEZWY000000000000000000" // 2026-02-02T08:39:56.928Z
		uuidV7 = "019c1dfe-7800-7000-8000-000000000001"
		uuidV4 = "0b4e9d1c-7b1a-4e55-9d3c-111111111111"
	)
	of := func(text string) time.Time {
		ts, ok := recoup.TimeOf(text)
		if !ok {
			t.Fatalf("%s has no time", text)
		}
		return ts
	}
	parsed, _ := recoup.ParseID(uuidV7)
	given := epoch().Add(-time.Hour + 1234567*time.Nanosecond).In(time.FixedZone("", 7200))
	for _, row := range []struct {
		name, text string
		id         recoup.ID
		ts, want   time.Time
	}{
		{"given", ulid, recoup.ID{}, given, epoch().Add(-time.Hour + 1234*time.Microsecond)},
		{"of a ULID", ulid, recoup.ID{}, time.Time{}, of(ulid)},
		{"of a UUIDv7", uuidV7, recoup.ID{}, time.Time{}, of(uuidV7)},
		{"of a UUIDv7 without its text", "", parsed, time.Time{}, of(uuidV7)},
		{"a random UUID has none", uuidV4, recoup.ID{}, time.Time{}, epoch()},
		{"nothing", "", recoup.ID{}, time.Time{}, epoch()},
		{"as old as the retention", uuidV4, recoup.ID{}, epoch().Add(-retention), epoch().Add(-retention)},
		{"a day ahead", uuidV4, recoup.ID{}, epoch().Add(24 * time.Hour), epoch().Add(24 * time.Hour)},
	} {
		e, _ := accepted(t, change(func(in *ledger.Incoming) { in.IDText, in.ID, in.TS = row.text, row.id, row.ts }))
		if !e.TS.Equal(row.want) || e.TS.Location() != time.UTC || e.TS.Nanosecond()%1000 != 0 {
			t.Errorf("%s: %v, want %v", row.name, e.TS, row.want)
		}
	}
}

func TestMissingPartsAreFilledIn(t *testing.T) {
	t.Parallel()
	sender := &ledger.Sender{Service: "mailer", Region: "us-east-1", Trace: recoup.ID{7}}
	bare := ledger.Incoming{Event: recoup.Event{Code: "NETWORK_TIMEOUT"}, Sender: sender}
	e, _ := accepted(t, bare)
	if e.ID.IsZero() || e.CorrelationID != sender.Trace || e.Service != "mailer" || e.Region != "us-east-1" {
		t.Errorf("got %+v", e)
	}
	if e.TenantHash != "" || e.TenantKey != "" {
		t.Errorf("no tenant has the hash %s", e.TenantHash)
	}
	own := clean()
	own.Sender = sender
	if e, _ := accepted(t, own); e.Service != "billing" || e.Region != "eu-west-1" || e.CorrelationID != own.CorrelationID {
		t.Errorf("the sender's word counts for more than the event's: %+v", e)
	}
	alone, _ := accepted(t, ledger.Incoming{Event: recoup.Event{Code: "NETWORK_TIMEOUT", Service: "x"}})
	if alone.CorrelationID.IsZero() || alone.CorrelationID == alone.ID {
		t.Errorf("the correlation id is %v", alone.CorrelationID)
	}
}

func TestPartsAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		in    func(*ledger.Incoming)
		check func(store.Event) bool
		want  map[string]int64
	}{
		{"a query string", func(in *ledger.Incoming) { in.Endpoint = "GET /v1/x?email=a@example.org&page=2?" },
			func(e store.Event) bool { return e.Endpoint == "GET /v1/x" }, map[string]int64{ledger.DropQuery: 1}},
		{"nothing but a query string", func(in *ledger.Incoming) { in.Endpoint = "?page=2" },
			func(e store.Event) bool { return e.Endpoint == "" }, map[string]int64{ledger.DropQuery: 1}},
		{"an unknown provider", func(in *ledger.Incoming) { in.ExternalService = "acme-api" },
			func(e store.Event) bool { return e.ExternalService == "" }, map[string]int64{ledger.DropProvider: 1}},
		{"details", func(in *ledger.Incoming) {
			in.Details = map[string]any{"retryable": true, "body": "x", "sql": "y", "limit": "many", "field": strings.Repeat("x", 129)}
		},
			func(e store.Event) bool { return reflect.DeepEqual(e.Details, map[string]any{"retryable": true}) },
			map[string]int64{"details_unknown_key": 2, "details_wrong_type": 1, "details_too_large": 1}},
		{"a secret in details", func(in *ledger.Incoming) { in.Details = map[string]any{"expected_etag": secrets()[0]} },
			func(e store.Event) bool { return reflect.DeepEqual(e.Details, map[string]any{"retryable": true}) }, map[string]int64{"details_secret": 1}},
	} {
		e, dropped := accepted(t, change(row.in))
		if !row.check(e) || !maps.Equal(dropped, row.want) {
			t.Errorf("%s: kept %+v, dropped %v, want %v", row.name, e, dropped, row.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100) + "x" // 201 bytes
	type row struct {
		reason, field string
		in            func(*ledger.Incoming)
	}
	rows := []row{
		{ledger.DropCode, "code", func(in *ledger.Incoming) { in.Code = "" }},
		{ledger.DropCode, "code", func(in *ledger.Incoming) { in.Code = "no code" }},
		{ledger.DropCode, "code", func(in *ledger.Incoming) { in.Code = "9TO5" }},
		{ledger.DropCode, "code", func(in *ledger.Incoming) { in.Code = recoup.Code(strings.Repeat("A", 65)) }},
		{ledger.DropID, "event_id", func(in *ledger.Incoming) { in.IDText = "42" }},
		{ledger.DropID, "event_id", func(in *ledger.Incoming) { in.IDText = "00000000-0000-0000-0000-000000000000" }},
		{ledger.DropTime, "ts", func(in *ledger.Incoming) { in.TS = epoch().Add(-retention - time.Microsecond) }},
		{ledger.DropTime, "ts", func(in *ledger.Incoming) { in.TS = epoch().Add(24*time.Hour + time.Microsecond) }},
		{ledger.DropTime, "ts", func(in *ledger.Incoming) { in.TS, in.IDText = time.Time{}, "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T" }},
		{ledger.DropTime, "ts", func(in *ledger.Incoming) { in.TS = time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{ledger.DropService, "service", func(in *ledger.Incoming) { in.Service = "" }},
		{ledger.DropService, "service", func(in *ledger.Incoming) { in.Service = "  " }},
		{ledger.DropStatus, "http_status", func(in *ledger.Incoming) { in.HTTPStatus = 99 }},
		{ledger.DropStatus, "http_status", func(in *ledger.Incoming) { in.HTTPStatus = 600 }},
		{ledger.DropStatus, "http_status", func(in *ledger.Incoming) { in.HTTPStatus = -1 }},
	}
	for field, set := range names() {
		for _, bad := range []string{long, "a\x00b", "a\nb", "a\u0085b", "a\xffb", "\xc3"} {
			rows = append(rows, row{ledger.DropText, field, func(in *ledger.Incoming) { set(in, bad) }})
		}
	}
	for _, row := range rows {
		in := change(row.in)
		g, tally := newGovernor(t)
		got := govern(g, []ledger.Incoming{in})
		if len(got.Refused) != 1 || len(got.Events) != 0 || !got.IDs[0].IsZero() {
			t.Errorf("%s %s: %+v is not refused", row.reason, row.field, in)
			continue
		}
		err := got.Refused[0].Err
		if fields := err.Fields(); err.Code != fault.CodeValidationError || len(fields) != 1 || fields[0].Field != row.field {
			t.Errorf("%s %s: refused with %v, %v", row.reason, row.field, err, fields)
		}
		if want := map[string]int64{row.reason: 1}; !maps.Equal(tally.Totals(), want) {
			t.Errorf("%s %s: counted %v", row.reason, row.field, tally.Totals())
		}
	}
}

// names are the fields that hold a name, and how to set them.
func names() map[string]func(*ledger.Incoming, string) {
	return map[string]func(*ledger.Incoming, string){
		"service":          func(in *ledger.Incoming, s string) { in.Service = s },
		"endpoint":         func(in *ledger.Incoming, s string) { in.Endpoint = s },
		"region":           func(in *ledger.Incoming, s string) { in.Region = s },
		"external_service": func(in *ledger.Incoming, s string) { in.ExternalService = s },
	}
}

// TestBatchStands refuses some events of a batch and keeps the others, each under
// the index it came with.
func TestBatchStands(t *testing.T) {
	t.Parallel()
	g, tally := newGovernor(t)
	noID := change(func(in *ledger.Incoming) { in.IDText, in.ID = "", recoup.ID{} })
	bad := change(func(in *ledger.Incoming) { in.Code, in.Service, in.HTTPStatus = "-", "", 7 })
	got := govern(g, []ledger.Incoming{bad, clean(), bad, noID, bad})
	if len(got.Events) != 2 || len(got.Refused) != 3 {
		t.Fatalf("%d events are kept, %d refused", len(got.Events), len(got.Refused))
	}
	for i, index := range []int{0, 2, 4} {
		if r := got.Refused[i]; r.Index != index || len(r.Err.Fields()) != 3 {
			t.Errorf("refusal %d is that of %d, with %v", i, r.Index, r.Err.Fields())
		}
	}
	want := []recoup.ID{{}, got.Events[0].ID, {}, got.Events[1].ID, {}}
	if !slices.Equal(got.IDs, want) || got.Events[1].ID.IsZero() || got.Events[0].ID == got.Events[1].ID {
		t.Errorf("the ids are %v, want %v", got.IDs, want)
	}
	if want := map[string]int64{ledger.DropCode: 3}; !maps.Equal(tally.Totals(), want) {
		t.Errorf("counted %v: a refused event counts once", tally.Totals())
	}
	if got := govern(g, nil); len(got.Events)+len(got.IDs)+len(got.Refused) != 0 {
		t.Errorf("an empty batch is %+v", got)
	}
}

// TestIncomingJSON reads an event as clients write it.
func TestIncomingJSON(t *testing.T) {
	t.Parallel()
	var in ledger.Incoming
	err := json.Unmarshal([]byte(`{"event_id": "01KGEZWY000000000000000000", "code": "rate_limited", "service": "billing",
		"correlation_id": "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T", "details": {"retryable": true}}`), &in)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := accepted(t, in)
	ts, _ := recoup.TimeOf("01KGEZWY000000000000000000")
	if !e.TS.Equal(ts) || e.Code != "RATE_LIMIT_EXCEEDED" || e.CorrelationID.IsZero() || e.Details["retryable"] != true {
		t.Errorf("got %+v", e)
	}
}

func TestGovernorNeedsEverything(t *testing.T) {
	t.Parallel()
	for _, o := range []ledger.GovernorOptions{
		{}, {Registry: fault.Default(), Tenants: newTenants(t), IDs: recoup.NewIDSource(nil), Tally: ledger.NewTally()},
	} {
		if _, err := ledger.NewGovernor(o); err == nil {
			t.Errorf("%+v is enough", o)
		}
	}
}

// TestGovernAllocations holds a clean event to its budget of six allocations. It
// needs five, and one for the hash of a tenant, which is left out here: under the
// race detector pools forget on purpose, which costs a part of one.
func TestGovernAllocations(t *testing.T) {
	g, _ := newGovernor(t)
	in := clean()
	in.Tenant, in.Details = "", map[string]any{"retryable": true}
	batch := slices.Repeat([]ledger.Incoming{in}, 100)
	if got := testing.AllocsPerRun(20, func() { govern(g, batch) }) / float64(len(batch)); got > 6 {
		t.Errorf("an event costs %.2f allocations", got)
	}
}
