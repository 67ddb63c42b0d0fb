package conformance

import (
	"crypto/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// ledgerClause is one sentence of the specification and how it is tried.
type ledgerClause struct {
	says string
	try  func(b *Bookkeeper)
}

// RunLedger holds a ledger to the specification. Each clause runs in parallel on
// a fresh, migrated database; open registers its own clean-up.
func RunLedger(t *testing.T, open func(t *testing.T) Ledger) {
	for _, c := range slices.Concat(codeClauses(), eventClauses(), rollupClauses(), fileClauses(), ledgerRaces()) {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			c.try(NewBookkeeper(t, open(t)))
		})
	}
}

// Bookkeeper adds events to a ledger and keeps a book of its own, in the most
// naive way there is, to hold the ledger to.
type Bookkeeper struct {
	TB
	Ledger Ledger

	ids  *recoup.IDSource
	book map[eventKey]store.Event
}

// eventKey is what makes an event the same.
type eventKey struct {
	id recoup.ID
	ts int64
}

func keyOf(e store.Event) eventKey { return eventKey{e.ID, e.TS.UnixMicro()} }

// NewBookkeeper registers the codes that Recoup ships.
func NewBookkeeper(t TB, l Ledger) *Bookkeeper {
	t.Helper()
	b := &Bookkeeper{TB: t, Ledger: l, ids: recoup.NewIDSource(rand.Reader), book: map[eventKey]store.Event{}}
	b.must(l.SyncCodes(t.Context(), Epoch(), fault.Default().All()))
	return b
}

func (b *Bookkeeper) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%v", err)
	}
}

// Event returns an event that has not been added yet.
func (b *Bookkeeper) Event(service string, code recoup.Code, ts time.Time) store.Event {
	return store.Event{Event: recoup.Event{ID: b.ids.New(ts), Code: code, CorrelationID: b.ids.New(ts), Service: service, TS: ts}}
}

// Add adds events and says whether the ledger finds as many new as the book does.
func (b *Bookkeeper) Add(events ...store.Event) {
	b.Helper()
	want := b.enter(events)
	got, err := b.Ledger.InsertEvents(b.Context(), events)
	b.must(err)
	if got != want {
		b.Fatalf("of %d events %d were new, want %d", len(events), got, want)
	}
}

// enter writes events into the book and returns how many were new.
func (b *Bookkeeper) enter(events []store.Event) (added int) {
	for _, e := range events {
		if _, known := b.book[keyOf(e)]; !known {
			b.book[keyOf(e)] = stored(e)
			added++
		}
	}
	return added
}

// stored is an event as it must come back.
func stored(e store.Event) store.Event {
	e.Tenant = ""
	e.TS = e.TS.UTC().Truncate(time.Microsecond)
	if len(e.Details) == 0 {
		e.Details = nil
	}
	return e
}

// Check holds the ledger to the book, for a span that covers whole days.
func (b *Bookkeeper) Check(span store.Span) {
	b.Helper()
	b.wantEvents(store.EventFilter{From: span.From, To: span.To}, sqldb.MaxPage)
	b.wantTopCodes(span, sqldb.MaxPage)
	b.wantDaily(store.DailyFilter{}, span)
	b.wantRates(span)
}

// wantEvents says that a list, walked page by page, has exactly what the book
// has, in order.
func (b *Bookkeeper) wantEvents(f store.EventFilter, limit int) {
	b.Helper()
	want := b.listed(f)
	page := sqldb.Page{Limit: limit}
	var got []store.Event
	for {
		list, next, err := b.Ledger.Events(b.Context(), f, page)
		b.must(err)
		if len(list) > limit {
			b.Fatalf("a page of %d has %d rows", limit, len(list))
		}
		got = append(got, list...)
		if next.IsZero() {
			break
		}
		if next == page.Cursor {
			b.Fatalf("the cursor does not move from %v", next)
		}
		page.Cursor = next
	}
	if len(got) != len(want) {
		b.Fatalf("%+v lists %d events, want %d", f, len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			b.Fatalf("%+v lists at place %d\n%+v, want\n%+v", f, i, got[i], want[i])
		}
	}
}

func (b *Bookkeeper) wantTopCodes(span store.Span, limit int) {
	b.Helper()
	got, err := b.Ledger.TopCodes(b.Context(), span, limit)
	b.must(err)
	want := b.topCodes(span)
	want = want[:min(limit, len(want))]
	if !slices.Equal(got, want) {
		b.Fatalf("the codes from %v to %v are\n%v, want\n%v", span.From, span.To, got, want)
	}
}

func (b *Bookkeeper) wantDaily(f store.DailyFilter, span store.Span) {
	b.Helper()
	got, err := b.Ledger.Daily(b.Context(), f, span.From, span.To.Add(-1))
	b.must(err)
	if want := b.daily(f, span); !slices.Equal(got, want) {
		b.Fatalf("the counts from %v to %v of %+v are\n%v, want\n%v", span.From, span.To, f, got, want)
	}
}

func (b *Bookkeeper) wantRates(span store.Span) {
	b.Helper()
	got, err := b.Ledger.RetryableRates(b.Context(), span.From, span.To.Add(-1))
	b.must(err)
	if want := b.rates(span); !slices.Equal(got, want) {
		b.Fatalf("the rates from %v to %v are\n%v, want\n%v", span.From, span.To, got, want)
	}
}
