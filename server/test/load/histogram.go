package load

import (
	"math"
	"math/bits"
	"time"
)

// precision is how many buckets a power of two is cut into: a quantile is at most a
// thousandth above the exact one.
const (
	precisionBits = 10
	precision     = 1 << precisionBits
)

// Histogram counts durations in buckets whose width grows with them: a log-linear, or
// HDR, histogram. It counts in microseconds, rounded up, so that a quantile never
// flatters. The zero value is empty.
type Histogram struct {
	buckets []int64
	count   int64
	sum     time.Duration
	max     time.Duration
}

// Record counts a duration; a negative one counts as none.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	at := bucket(uint64((d + time.Microsecond - 1) / time.Microsecond))
	if at >= len(h.buckets) {
		h.buckets = append(h.buckets, make([]int64, at+1-len(h.buckets))...)
	}
	h.buckets[at]++
	h.count++
	h.sum += d
	h.max = max(h.max, d)
}

// Count is how many durations were recorded.
func (h *Histogram) Count() int64 { return h.count }

// Max is the longest of them, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean is their average.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return h.sum / time.Duration(h.count)
}

// Quantile returns the duration that the share q of all does not exceed: at least the
// exact one, and at most a thousandth and a microsecond more. Of nothing it is 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := min(max(int64(math.Ceil(q*float64(h.count))), 1), h.count)
	var seen int64
	for at, n := range h.buckets {
		if seen += n; n > 0 && seen >= rank {
			return min(time.Duration(upper(at))*time.Microsecond, h.max)
		}
	}
	return 0
}

// bucket is the index of a value. Values below two precisions have a bucket each; above,
// precision buckets share each power of two.
func bucket(v uint64) int {
	shift := max(bits.Len64(v)-precisionBits-1, 0)
	return shift*precision + int(v>>shift)
}

// upper is the largest value of a bucket.
func upper(at int) uint64 {
	shift := max(at/precision-1, 0)
	return (uint64(at-shift*precision)+1)<<shift - 1
}
