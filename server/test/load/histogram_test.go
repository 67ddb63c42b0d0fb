package load_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/test/load"
)

// A quantile is at least the exact one, and at most a thousandth and a microsecond above it,
// whatever was recorded; count, mean and maximum are exact.
func TestQuantilesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		magnitude := rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 1<<rapid.IntRange(0, 45).Draw(t, "bits")).Draw(t, "ns")
		})
		values := rapid.SliceOfN(magnitude, 1, 200).Draw(t, "values")
		var h load.Histogram
		var sum time.Duration
		for _, v := range values {
			h.Record(time.Duration(v))
			sum += time.Duration(v)
		}
		slices.Sort(values)
		for _, q := range append([]float64{0, 0.5, 0.9, 0.99, 0.999, 1}, rapid.Float64Range(0, 1).Draw(t, "q")) {
			rank := max(int(math.Ceil(q*float64(len(values)))), 1)
			exact := time.Duration(values[rank-1])
			most := exact + exact/1000 + time.Microsecond
			if got := h.Quantile(q); got < exact || got > most {
				t.Fatalf("quantile %v of %v is %v: expected %v to %v", q, values, got, exact, most)
			}
		}
		if h.Count() != int64(len(values)) || h.Max() != time.Duration(values[len(values)-1]) || h.Mean() != sum/time.Duration(len(values)) {
			t.Fatalf("count %d, maximum %v, mean %v of %v", h.Count(), h.Max(), h.Mean(), values)
		}
	})
}

func TestNothingWasRecorded(t *testing.T) {
	t.Parallel()
	var h load.Histogram
	if h.Quantile(0.99) != 0 || h.Mean() != 0 || h.Max() != 0 {
		t.Errorf("an empty histogram has %v, %v, %v", h.Quantile(0.99), h.Mean(), h.Max())
	}
	if h.Record(-time.Second); h.Quantile(1) != 0 || h.Count() != 1 {
		t.Errorf("a clock that goes back counts as %v", h.Quantile(1))
	}
}
