package sqlite_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/store"
	"recoup/internal/store/storetest"
)

// sampleEvents returns events as they come: of forty codes and twenty services,
// half of them with details.
func sampleEvents(n int, from time.Time, apart time.Duration) []store.Event {
	ids, codes := recoup.NewIDSource(rand.Reader), fault.Default().All()
	list := make([]store.Event, n)
	for i := range list {
		ts := from.Add(time.Duration(i) * apart)
		list[i] = store.Event{
			Event: recoup.Event{
				ID: ids.New(ts), Code: codes[i*7%40].Code, CorrelationID: ids.New(ts), Service: fmt.Sprintf("service-%d", i*13%20),
				Endpoint: "GET /v1/things/{id}", HTTPStatus: 503, Region: "eu-west-1", TS: ts,
			},
			TenantHash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", TenantKey: "2026-01",
		}
		if i%2 == 0 {
			list[i].Details = map[string]any{"retryable": i%4 == 0, "limit": int64(i), "field": "name"}
		}
	}
	return list
}

// BenchmarkInsertEvents adds batches of this many events.
func BenchmarkInsertEvents(b *testing.B) {
	for _, size := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			ledger := storetest.NewBookkeeper(b, open(b)).Ledger
			at := storetest.Epoch()
			for b.Loop() {
				b.StopTimer()
				batch := sampleEvents(size, at, time.Millisecond)
				at = at.Add(time.Duration(size) * time.Millisecond)
				b.StartTimer()
				if added, err := ledger.InsertEvents(b.Context(), batch); err != nil || added != size {
					b.Fatal(added, err)
				}
			}
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkTopCodes asks for the top codes of 24 hours that begin and end within
// one.
func BenchmarkTopCodes(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		ledger := storetest.NewBookkeeper(b, open(b)).Ledger
		const step = 5000
		apart := 25 * time.Hour / time.Duration(n)
		for i := 0; i < n; i += step {
			if _, err := ledger.InsertEvents(b.Context(), sampleEvents(step, storetest.Epoch().Add(time.Duration(i)*apart), apart)); err != nil {
				b.Fatal(err)
			}
		}
		span := store.Span{From: storetest.Epoch().Add(30 * time.Minute), To: storetest.Epoch().Add(24*time.Hour + 30*time.Minute)}
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			for b.Loop() {
				list, err := ledger.TopCodes(b.Context(), span, 10)
				if err != nil || len(list) != 10 {
					b.Fatal(list, err)
				}
			}
		})
	}
}
