package conformance

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	timeout     = recoup.Code("NETWORK_TIMEOUT")
	invalid     = recoup.Code("VALIDATION_ERROR")
	unknownCode = recoup.Code("UNREGISTERED_CODE")
)

func eventClauses() []ledgerClause {
	return []ledgerClause{
		{"an event comes back as it was, but for its tenant's name", eventReturns},
		{"an event that is known already is ignored, whatever comes with it", eventOnce},
		{"the same id at another time is another event", eventTwice},
		{"the same id at another time is the same event if it carries no time", eventTimeless},
		{"a code that is not registered refuses its whole batch", eventUnregistered},
		{"details that are not allowed are refused", eventDetails},
		{"a batch may reach over many months", eventMonths},
		{"lists can be filtered and walked page by page", eventLists},
		{"a bulk load counts like any other, and may be run again", eventBulk},
		{"an event outside of its span ends a bulk load", eventBulkSpan},
		{"months that are over can be dropped, and keep their counts", eventDrop},
	}
}

// full is an event with everything in it.
func (b *Bookkeeper) full(ts time.Time) store.Event {
	e := b.Event("billing", unknownCode, ts)
	e.Endpoint, e.HTTPStatus, e.Region, e.ExternalService = "POST /v1/invoices", 503, "eu-west-1", "stripe"
	e.Tenant, e.TenantHash, e.TenantKey, e.ReportedCode = "acme", "9f86d081884c7d65", "2026-01", "OUT_OF_PAPER"
	e.Details = map[string]any{
		"retryable": true, "field": "items[0].größe", "limit": int64(1) << 53, "window_sec": int64(60),
		"expected_etag": `W/"5c3"`, "existing_id": "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T",
	}
	return e
}

func eventReturns(b *Bookkeeper) {
	full := b.full(Epoch().Add(123456789 * time.Nanosecond))
	for _, part := range []reflect.Value{reflect.ValueOf(full), reflect.ValueOf(full.Event)} {
		for i := range part.NumField() {
			if name := part.Type().Field(i).Name; part.Field(i).IsZero() && name != "Timeless" { // which is not stored
				b.Fatalf("the sample leaves %s empty", name)
			}
		}
	}
	b.Add(full, b.Event("x", timeout, Epoch().In(time.FixedZone("", 3600))))
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)})
}

func eventOnce(b *Bookkeeper) {
	var batch []store.Event
	for i := range 100 {
		batch = append(batch, b.Event("billing", timeout, Epoch().Add(time.Duration(i)*minute)))
	}
	b.Add(batch...)
	b.Add(batch...)
	slices.Reverse(batch)
	b.Add(slices.Concat(batch, []store.Event{b.Event("billing", invalid, Epoch())}, batch[:7])...)
	twin := b.Event("billing", timeout, Epoch())
	b.Add(twin, twin)
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)})
}

func eventTimeless(b *Bookkeeper) {
	e := b.Event("billing", timeout, Epoch())
	e.Timeless = true
	later := e
	later.TS = e.TS.Add(40 * day) // in another month
	for i, want := range []int{1, 0} {
		if n, err := b.Ledger.InsertEvents(b.Context(), []store.Event{e, later, e}); n != want || err != nil {
			b.Errorf("time %d: %d were new, %v", i+1, n, err)
		}
	}
}

func eventTwice(b *Bookkeeper) {
	e := b.Event("billing", timeout, Epoch())
	later := e
	later.TS = e.TS.Add(time.Microsecond)
	b.Add(e)
	b.Add(later, e)
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)})
}

func eventUnregistered(b *Bookkeeper) {
	b.refuses(b.Event("billing", "NOBODY_REGISTERED_ME", Epoch()))
}

func eventDetails(b *Bookkeeper) {
	for _, details := range []map[string]any{
		{"body": "x"},
		{"retryable": true, "password": "x"},
		{"retryable": "yes"},
		{"retryable": nil},
		{"field": strings.Repeat("x", 3000)},
		{"limit": func() {}},
	} {
		e := b.Event("billing", timeout, Epoch())
		e.Details = details
		b.refuses(e)
	}
}

// refuses says that an event is refused together with those that stand beside it.
func (b *Bookkeeper) refuses(bad store.Event) {
	b.Helper()
	good := b.Event("billing", timeout, Epoch())
	if _, err := b.Ledger.InsertEvents(b.Context(), []store.Event{good, bad, good}); !errors.Is(err, store.ErrRefused) {
		b.Errorf("%+v: %v, want %v", bad, err, store.ErrRefused)
	}
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)})
}

func eventMonths(b *Bookkeeper) {
	var batch []store.Event
	for i := range 100 {
		batch = append(batch, b.Event("billing", timeout, Epoch().Add(time.Duration(i*37%100)*day)))
	}
	b.Add(batch...)
	b.Add(batch[10:]...)
	edge := store.Month(Epoch()).AddDate(0, 1, 0)
	b.Add(b.Event("billing", timeout, edge), b.Event("billing", timeout, edge.Add(-time.Microsecond)))
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(100 * day)})
}

func eventLists(b *Bookkeeper) {
	correlations := []recoup.ID{b.ids.New(Epoch()), b.ids.New(Epoch()), b.ids.New(Epoch())}
	services, codes := []string{"billing", "search", "mail"}, []recoup.Code{timeout, invalid, unknownCode}
	choose := seeded(1)
	var batch []store.Event
	for range 300 {
		// Many at the same time, and long stretches without any.
		ts := Epoch().Add(time.Duration(choose("hour", 3)*choose("days", 40)*17+choose("minute", 3)) * time.Hour)
		e := b.Event(services[choose("service", 3)], codes[choose("code", 3)], ts)
		e.CorrelationID = correlations[choose("correlation", 3)]
		batch = append(batch, e)
	}
	b.Add(batch...)
	b.wantEvents(store.EventFilter{}, 7)
	rapid.Check(b.TB, func(t *rapid.T) {
		x := *b
		x.TB = t
		var f store.EventFilter
		pick := func(what string) *store.Event {
			if rapid.IntRange(0, 2).Draw(t, what) > 0 {
				return nil
			}
			return &batch[rapid.IntRange(0, len(batch)-1).Draw(t, what+" of")]
		}
		if e := pick("correlation"); e != nil {
			f.Correlation = e.CorrelationID
		}
		if e := pick("service"); e != nil {
			f.Service = e.Service
		}
		if e := pick("code"); e != nil {
			f.Code = e.Code
		}
		if e := pick("from"); e != nil {
			f.From = e.TS
		}
		if e := pick("to"); e != nil {
			f.To = e.TS
		}
		x.wantEvents(f, rapid.IntRange(1, 400).Draw(t, "limit"))
	})
	b.wantEvents(store.EventFilter{Correlation: b.ids.New(Epoch())}, 10)
}

func eventBulk(b *Bookkeeper) {
	span := store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(60 * day)}
	var batch []store.Event
	for i := range 1000 {
		batch = append(batch, b.Event(fmt.Sprint("s", i%3), timeout, span.From.Add(time.Duration(i)*time.Hour)))
	}
	b.Add(batch[:3]...)
	for _, want := range []int{997, 0} {
		added, err := b.Ledger.BulkLoad(b.Context(), span, slices.Values(batch))
		if err != nil || added != want {
			b.Fatalf("%d events were loaded, %v, want %d", added, err, want)
		}
	}
	b.enter(batch)
	b.Check(span)
}

func eventBulkSpan(b *Bookkeeper) {
	span := store.Span{From: Epoch(), To: Epoch().Add(day)}
	for _, ts := range []time.Time{span.From.Add(-time.Microsecond), span.To} {
		batch := []store.Event{b.Event("billing", timeout, ts)}
		if added, err := b.Ledger.BulkLoad(b.Context(), span, slices.Values(batch)); added != 0 || !errors.Is(err, store.ErrRefused) {
			b.Errorf("%d events were loaded, %v, want %v", added, err, store.ErrRefused)
		}
	}
	b.Check(store.Span{From: store.Day(Epoch()).Add(-day), To: store.Day(Epoch()).Add(2 * day)})
}

// The months of this clause are over by any clock: a database may ask its own.
func eventDrop(b *Bookkeeper) {
	first := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	b.must(b.Ledger.EnsureEventPartitions(b.Context(), first.AddDate(0, 3, 0), 90*day))
	var batch []store.Event
	for i := range 4 * 1500 {
		batch = append(batch, b.Event("billing", timeout, first.AddDate(0, i%4, 0).Add(time.Duration(i/4)*25*minute)))
	}
	b.Add(batch...)
	for dropped := range 4 {
		before := first.AddDate(0, dropped+1, 0).Add(-time.Microsecond) // the month is not over yet
		b.must(b.Ledger.DropEvents(b.Context(), before))
		for key, e := range b.book {
			if e.TS.Before(store.Month(before)) {
				delete(b.book, key)
			}
		}
		b.wantEvents(store.EventFilter{}, sqldb.MaxPage)
	}
	all := store.Span{From: first, To: first.AddDate(0, 4, 0)}
	if got, err := b.Ledger.TopCodes(b.Context(), all, 1); err != nil || !slices.Equal(got, []recoup.CodeCount{{Code: timeout, Count: 6000}}) {
		b.Errorf("the counts are %v, %v", got, err)
	}
}
