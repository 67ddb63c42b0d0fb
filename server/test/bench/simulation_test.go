package bench

import (
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/simulation"
)

// BenchmarkSimulation measures a year with 100,000 errors under the default
// policy. Target: at most 2 s on one core, which is 20 µs per error.
func BenchmarkSimulation(b *testing.B) {
	o := simulation.Defaults(policy.Default(), fault.Default())
	o.Mix.Errors, o.Mix.Entities = 100_000, 25_000
	if testing.Short() {
		o.Mix.Errors, o.Mix.Entities = 2_000, 500
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := simulation.Run(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(o.Mix.Errors), "ns/error")
}
