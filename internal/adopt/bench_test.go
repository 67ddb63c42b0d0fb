package adopt_test

import (
	"fmt"
	"testing"
	"time"

	"recoup"
)

// BenchmarkWriters compares a table that is adopted with its twin that is not: rows
// inserted one by one, and in batches of 500. The ratio is what writers keep.
func BenchmarkWriters(b *testing.B) {
	for _, batch := range []int{1, 500} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			const table = "(id bigint generated always as identity primary key, order_id text, code text, message text, created_at timestamptz default now())"
			w := newWorld(b, "create table shop.failures "+table+"; create table shop.twin "+table)
			w.adopt("shop.failures", recoup.Mapping{})
			now := time.Now
			insert := func(name string) time.Duration {
				sql := fmt.Sprintf("insert into shop.%s (order_id, code, message) select 'o' || n, 'TIMEOUT', 'it took too long' from generate_series(1, $1::int) n", name)
				began := now()
				if _, err := w.owner.Exec(b.Context(), sql, batch); err != nil {
					b.Fatal(err)
				}
				return now().Sub(began)
			}
			insert("failures")
			insert("twin")
			var adopted, alone time.Duration
			for b.Loop() {
				adopted += insert("failures")
				alone += insert("twin")
			}
			b.ReportMetric(float64(b.N*batch)/adopted.Seconds(), "adopted/s")
			b.ReportMetric(float64(b.N*batch)/alone.Seconds(), "alone/s")
			b.ReportMetric(alone.Seconds()/adopted.Seconds(), "ratio")
		})
	}
}
