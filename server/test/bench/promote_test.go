package bench

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// BenchmarkPromotion promotes entities that nothing blocks, one after the other, while
// clients report errors that close the gates of others.
func BenchmarkPromotion(b *testing.B) {
	for _, clients := range []int{0, 1, 8} {
		for _, size := range []int{1, workBatch} {
			b.Run(fmt.Sprintf("clients=%d/batch=%d", clients, size), func(b *testing.B) {
				s, _ := openPostgres(b)
				promoter := newNode(b, s)
				var reported atomic.Int64
				var wg sync.WaitGroup
				stop := make(chan struct{})
				for c := range clients {
					n := newNode(b, s)
					n.serial = (c + 1) * 100_000_000
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
								n.report(size)
								reported.Add(int64(size))
							}
						}
					})
				}
				var took []time.Duration
				begin := time.Now()
				for i := 0; b.Loop(); i++ {
					at := time.Now()
					_, _, err := s.Promote(b.Context(), store.Promotion{ID: promoter.ids.New(promoter.now), Entity: fmt.Sprint("free-", i), Phase: "next", By: "ada", At: promoter.now})
					must(b, err)
					took = append(took, time.Since(at))
				}
				seconds := time.Since(begin).Seconds()
				close(stop)
				wg.Wait()
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(reported.Load())/seconds, "errors/s")
			})
		}
	}
}
