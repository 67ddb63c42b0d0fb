package postgres_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/fault"
	"recoup/internal/store"
	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
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

// benchLedger returns a ledger that knows the codes, and its owner's session.
func benchLedger(b *testing.B) (*postgres.Store, *pgx.Conn) {
	b.Helper()
	ownerURL, appURL := pgtest.Migrated(b)
	ledger, owner := open(b, appURL), session(b, ownerURL)
	must(b, ledger.SyncCodes(b.Context(), storetest.Epoch(), fault.Default().All()))
	must(b, ledger.EnsureEventPartitions(b.Context(), storetest.Epoch(), 0))
	return ledger, owner
}

// BenchmarkInsertEvents adds batches of 5,000 events, and beside each copies one
// like it, with the driver's own COPY, into a table that is the same but for its
// guards and counts. The ratio of the two rates is what those cost.
func BenchmarkInsertEvents(b *testing.B) {
	const size = 5000
	ledger, owner := benchLedger(b)
	script(b, owner, `create schema bare;
		create table bare.error_event (like recoup.error_event including all) partition by range (ts);
		create table bare.error_event_y2026m02 partition of bare.error_event for values from ('2026-02-01') to ('2026-03-01')`)
	at := storetest.Epoch()
	var ours, bare time.Duration
	for b.Loop() {
		b.StopTimer()
		first, second := sampleEvents(size, at, time.Millisecond), sampleEvents(size, at, time.Millisecond)
		at = at.Add(size * time.Millisecond)
		b.StartTimer()
		start := b.Elapsed()
		added, err := ledger.InsertEvents(b.Context(), first)
		between := b.Elapsed()
		copyBare(b, owner, second)
		ours, bare = ours+between-start, bare+b.Elapsed()-between
		if err != nil || added != size {
			b.Fatal(added, err)
		}
	}
	n := float64(size * b.N)
	b.ReportMetric(n/ours.Seconds(), "events/s")
	b.ReportMetric(n/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
}

func copyBare(b *testing.B, conn *pgx.Conn, events []store.Event) {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"bare", "error_event"}, []string{
		"event_id", "code", "correlation_id", "service", "endpoint", "http_status", "tenant_hash", "details", "region", "ts",
		"external_service", "reported_code", "tenant_key",
	}, pgx.CopyFromSlice(len(events), func(i int) ([]any, error) {
		e := &events[i]
		var details any
		if e.Details != nil {
			details = e.Details
		}
		return []any{
			[16]byte(e.ID), string(e.Code), [16]byte(e.CorrelationID), e.Service, text(e.Endpoint), e.HTTPStatus, text(e.TenantHash),
			details, text(e.Region), e.TS, text(e.ExternalService), text(string(e.ReportedCode)), text(e.TenantKey),
		}, nil
	}))
	must(b, err)
}

// BenchmarkInsertKnownEvents adds batches of which one event is known already.
func BenchmarkInsertKnownEvents(b *testing.B) {
	const size = 5000
	ledger, _ := benchLedger(b)
	at := storetest.Epoch()
	known := sampleEvents(1, at, 0)
	_, err := ledger.InsertEvents(b.Context(), known)
	must(b, err)
	for b.Loop() {
		b.StopTimer()
		batch := append(sampleEvents(size-1, at, time.Millisecond), known...)
		at = at.Add(size * time.Millisecond)
		b.StartTimer()
		if added, err := ledger.InsertEvents(b.Context(), batch); err != nil || added != size-1 {
			b.Fatal(added, err)
		}
	}
	b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkTopCodes asks for the top codes of 24 hours that begin and end within
// one, and asks the same as spec 003 does, without counts.
func BenchmarkTopCodes(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		ledger, owner := benchLedger(b)
		day := store.Span{From: storetest.Epoch().Add(30 * time.Minute), To: storetest.Epoch().Add(24*time.Hour + 30*time.Minute)}
		_, err := ledger.BulkLoad(b.Context(), store.Span{From: storetest.Epoch(), To: storetest.Epoch().Add(25 * time.Hour)},
			func(yield func(store.Event) bool) {
				const step = 10_000
				for i := 0; i < n; i += step {
					apart := 25 * time.Hour / time.Duration(n)
					for _, e := range sampleEvents(step, storetest.Epoch().Add(time.Duration(i)*apart), apart) {
						if !yield(e) {
							return
						}
					}
				}
			})
		must(b, err)
		b.Run(fmt.Sprintf("events=%d/unfolded", n), func(b *testing.B) { topCodes(b, ledger, day) })
		must(b, ledger.FoldRollups(b.Context()))
		b.Run(fmt.Sprintf("events=%d/folded", n), func(b *testing.B) { topCodes(b, ledger, day) })
		b.Run(fmt.Sprintf("events=%d/spec", n), func(b *testing.B) {
			for b.Loop() {
				_, err := owner.Exec(b.Context(), `select code, count(*) as c from error_event where ts > $1 and ts < $2 group by code order by c desc`, day.From, day.To)
				must(b, err)
			}
		})
		b.Run(fmt.Sprintf("events=%d/newest 100", n), func(b *testing.B) {
			for b.Loop() {
				list, _, err := ledger.Events(b.Context(), store.EventFilter{Service: "service-7"}, store.Page{})
				if err != nil || len(list) != 100 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

func topCodes(b *testing.B, ledger *postgres.Store, span store.Span) {
	for b.Loop() {
		list, err := ledger.TopCodes(b.Context(), span, 10)
		if err != nil || len(list) != 10 {
			b.Fatal(list, err)
		}
	}
}
