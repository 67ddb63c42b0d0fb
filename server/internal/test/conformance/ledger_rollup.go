package conformance

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func rollupClauses() []ledgerClause {
	return []ledgerClause{
		{"counts are what a naive count says, whatever was late or sent twice, folded or not", rollupsExact},
		{"what an event says of itself beats the registry", rollupsRetryable},
		{"the top codes are cut and ordered", rollupsTop},
		{"an hour's edges count once", rollupsEdges},
		{"drops add up", dropsAddUp},
		{"counts are purged oldest first, in batches", rollupsPurged},
		{"an empty ledger answers", ledgerEmpty},
	}
}

func rollupsExact(b *Bookkeeper) {
	base := store.Day(Epoch())
	rapid.Check(b.TB, func(t *rapid.T) {
		x := *b
		x.TB = t
		x.book = map[eventKey]store.Event{}
		span := store.Span{From: base, To: base.Add(2 * day)}
		base = span.To // every run has days of its own
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			x.Add(x.draw(t, span)...)
			if rapid.Bool().Draw(t, "fold") {
				x.must(x.Ledger.FoldRollups(t.Context()))
			}
		}
		for range 3 {
			from, to := x.moment(t, span), x.moment(t, span)
			if to.Before(from) {
				from, to = to, from
			}
			x.wantTopCodes(store.Span{From: from, To: to}, rapid.IntRange(1, 5).Draw(t, "limit"))
		}
		x.wantDaily(store.DailyFilter{Service: "s1"}, span)
		x.wantDaily(store.DailyFilter{Service: "s1", Code: timeout}, span)
		x.Check(span)
		x.must(x.Ledger.FoldRollups(t.Context()))
		x.Check(span)
	})
}

// draw returns a batch of new and known events, in no order.
func (b *Bookkeeper) draw(t *rapid.T, span store.Span) []store.Event {
	codes := []recoup.Code{timeout, invalid, unknownCode}
	known := b.listed(store.EventFilter{})
	var batch []store.Event
	for range rapid.IntRange(0, 40).Draw(t, "events") {
		if len(known) > 0 && rapid.IntRange(0, 9).Draw(t, "known") == 0 {
			batch = append(batch, known[rapid.IntRange(0, len(known)-1).Draw(t, "which")])
			continue
		}
		e := b.Event(fmt.Sprint("s", rapid.IntRange(0, 2).Draw(t, "service")), codes[rapid.IntRange(0, 2).Draw(t, "code")], b.moment(t, span))
		e.Details = []map[string]any{nil, {"limit": int64(3)}, {"retryable": true}, {"retryable": false}}[rapid.IntRange(0, 3).Draw(t, "details")]
		batch = append(batch, e)
	}
	return batch
}

// moment draws a time of a span, most of them beside the full hour.
func (b *Bookkeeper) moment(t *rapid.T, span store.Span) time.Time {
	steps := int(span.To.Sub(span.From) / (20 * minute))
	at := span.From.Add(time.Duration(rapid.IntRange(0, steps).Draw(t, "step")) * 20 * minute)
	at = at.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "beside")) * time.Microsecond)
	if at.Before(span.From) {
		return span.From
	}
	if !at.Before(span.To) {
		return span.To.Add(-time.Microsecond)
	}
	return at
}

func rollupsRetryable(b *Bookkeeper) {
	said := func(code recoup.Code, retryable bool) store.Event {
		e := b.Event("billing", code, Epoch())
		e.Details = map[string]any{"retryable": retryable}
		return e
	}
	// The registry has timeout as worth trying again, invalid not.
	b.Add(b.Event("billing", timeout, Epoch()), b.Event("billing", invalid, Epoch()),
		said(timeout, false), said(timeout, true), said(invalid, true), said(invalid, false))
	rates, err := b.Ledger.RetryableRates(b.Context(), Epoch(), Epoch())
	b.must(err)
	if want := []recoup.ServiceRate{{Service: "billing", Retryable: 3, Total: 6}}; !slices.Equal(rates, want) {
		b.Errorf("the rates are %v, want %v", rates, want)
	}
}

func rollupsTop(b *Bookkeeper) {
	for n, code := range []recoup.Code{"QUOTA_EXCEEDED", timeout, invalid, "DOMAIN_NOT_FOUND"} {
		for range 3 - n%2 {
			b.Add(b.Event("billing", code, Epoch()))
		}
	}
	b.wantTopCodes(store.Span{From: Epoch(), To: Epoch().Add(day)}, 3)
	b.wantTopCodes(store.Span{From: Epoch(), To: Epoch().Add(day)}, 100)
}

func rollupsEdges(b *Bookkeeper) {
	hour := store.Hour(Epoch())
	moments := []time.Duration{-time.Hour, -1000, 0, 1000, 30 * minute, time.Hour - 1000, time.Hour, time.Hour + 1000, 2 * time.Hour}
	for _, m := range moments {
		b.Add(b.Event("billing", timeout, hour.Add(m)))
	}
	for _, fold := range []bool{false, true} {
		if fold {
			b.must(b.Ledger.FoldRollups(b.Context()))
		}
		for _, from := range moments {
			for _, to := range moments {
				if from <= to {
					b.wantTopCodes(store.Span{From: hour.Add(from), To: hour.Add(to)}, 1)
				}
			}
		}
	}
}

func dropsAddUp(b *Bookkeeper) {
	today, tomorrow := store.Day(Epoch()), store.Day(Epoch()).Add(day)
	for range 3 {
		b.must(b.Ledger.CountDrops(b.Context(), []store.Drop{
			{Day: Epoch(), Reason: "too_large", N: 2}, {Day: Epoch(), Reason: "unknown_key", N: 1}, {Day: tomorrow, Reason: "too_large", N: 5},
		}))
	}
	want := []store.Drop{{Day: today, Reason: "too_large", N: 6}, {Day: today, Reason: "unknown_key", N: 3}, {Day: tomorrow, Reason: "too_large", N: 15}}
	for range 2 {
		for _, test := range []struct {
			from, to time.Time
			want     []store.Drop
		}{{Epoch(), tomorrow, want}, {Epoch(), Epoch(), want[:2]}, {tomorrow, tomorrow, want[2:]}} {
			got, err := b.Ledger.Drops(b.Context(), test.from, test.to)
			b.must(err)
			if !slices.Equal(got, test.want) {
				b.Errorf("the drops from %v to %v are %v, want %v", test.from, test.to, got, test.want)
			}
		}
		b.must(b.Ledger.FoldRollups(b.Context()))
	}
}

func rollupsPurged(b *Bookkeeper) {
	first := store.Day(Epoch())
	for d := range 10 {
		ts := first.Add(time.Duration(d) * day)
		b.Add(b.Event("billing", timeout, ts), b.Event("search", timeout, ts.Add(time.Hour)))
		b.must(b.Ledger.CountDrops(b.Context(), []store.Drop{{Day: ts, Reason: "secret", N: 1}}))
	}
	b.must(b.Ledger.FoldRollups(b.Context()))
	keep := store.Retention{Hourly: first.Add(9*day + time.Hour), Daily: first.Add(4 * day)}
	// 19 hours, 8 counts per day and 4 of drops are over.
	purge := func(limit, want int) {
		if got, err := b.Ledger.PurgeRollups(b.Context(), keep, limit); err != nil || got != want {
			b.Errorf("a purge of %d deleted %d, %v, want %d", limit, got, err, want)
		}
	}
	purge(7, 7+7+4)
	if got, err := b.Ledger.TopCodes(b.Context(), store.Span{From: first, To: first.Add(9 * day)}, 1); err != nil || got[0].Count != 18-7 {
		b.Errorf("the counts are %v, %v, want those after the first seven", got, err)
	}
	b.wantTopCodes(store.Span{From: first.Add(4 * day), To: first.Add(9 * day)}, 1)
	purge(10, 10+1)
	purge(10, 2)
	purge(10, 0)
	for key, e := range b.book {
		if e.TS.Before(keep.Daily) {
			delete(b.book, key)
		}
	}
	b.wantDaily(store.DailyFilter{}, store.Span{From: first, To: first.Add(10 * day)})
	b.wantTopCodes(store.Span{From: keep.Hourly, To: first.Add(10 * day)}, 1)
	if drops, err := b.Ledger.Drops(b.Context(), first, first.Add(10*day)); err != nil || len(drops) != 6 || !drops[0].Day.Equal(keep.Daily) {
		b.Errorf("the drops are %v, %v", drops, err)
	}
}

func ledgerEmpty(b *Bookkeeper) {
	b.Add()
	b.must(b.Ledger.CountDrops(b.Context(), nil))
	b.must(b.Ledger.FoldRollups(b.Context()))
	b.must(b.Ledger.DropEvents(b.Context(), Epoch()))
	b.wantEvents(store.EventFilter{}, 10)
	b.wantEvents(store.EventFilter{Service: "billing", From: Epoch(), To: Epoch().Add(day)}, 10)
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)})
}
