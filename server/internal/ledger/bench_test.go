package ledger_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// BenchmarkGovern measures what one clean event costs. Target: at most 3 µs and 6
// allocations.
func BenchmarkGovern(b *testing.B) {
	bare := clean()
	bare.Details, bare.Tenant = nil, ""
	one := clean()
	one.Details = map[string]any{"retryable": true}
	for _, row := range []struct {
		name string
		in   ledger.Incoming
	}{{"bare", bare}, {"retryable", one}, {"full", clean()}} {
		b.Run(row.name, func(b *testing.B) {
			g, _ := newGovernor(b)
			batch := make([]ledger.Incoming, 100)
			for i := range batch {
				batch[i] = row.in
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%len(batch) == 0 {
					if got := govern(g, batch); len(got.Refused) > 0 {
						b.Fatal(got.Refused[0].Err)
					}
				}
			}
		})
	}
}

func BenchmarkTenantHash(b *testing.B) {
	tenants := newTenants(b)
	b.ReportAllocs()
	for b.Loop() {
		tenants.Hash("acme")
	}
}

// nullStore accepts everything at once.
type nullStore struct{ events atomic.Int64 }

func (s *nullStore) InsertEvents(_ context.Context, events []store.Event) (int, error) {
	s.events.Add(int64(len(events)))
	return len(events), nil
}

func (*nullStore) CountDrops(context.Context, []store.Drop) error { return nil }

// BenchmarkWriter measures what the writer itself costs an event, by the size of
// what producers append.
func BenchmarkWriter(b *testing.B) {
	for _, row := range []struct {
		name string
		size int
	}{{"single", 1}, {"hundred", 100}} {
		b.Run(row.name, func(b *testing.B) {
			s := &nullStore{}
			w, err := ledger.NewWriter(ledger.Options{
				Store: s, Tally: ledger.NewTally(), Now: time.Now, Random: rand.Float64, MaxEvents: 1 << 30, MaxBytes: 1 << 40,
			})
			if err != nil {
				b.Fatal(err)
			}
			events := newEvents().make(row.size)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := w.Append(b.Context(), events); err != nil {
						b.Error(err)
					}
				}
			})
			if err := w.Close(context.Background()); err != nil {
				b.Error(err)
			}
			if got := s.events.Load(); got != int64(b.N*row.size) {
				b.Errorf("%d events were written, want %d", got, b.N*row.size)
			}
			b.ReportMetric(float64(s.events.Load())/b.Elapsed().Seconds(), "events/s")
		})
	}
}
