package simulation

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
)

// wheel draws values by weight.
type wheel[T any] struct {
	values []T
	upTo   []float64 // sums of the weights
}

func newWheel[T cmp.Ordered](weights map[T]float64) wheel[T] {
	var w wheel[T]
	sum := 0.0
	for _, v := range slices.Sorted(maps.Keys(weights)) {
		sum += weights[v]
		w.values, w.upTo = append(w.values, v), append(w.upTo, sum)
	}
	return w
}

func (w *wheel[T]) spin(r *rand.Rand) T {
	x := r.Float64() * w.upTo[len(w.upTo)-1]
	i, _ := slices.BinarySearch(w.upTo, x)
	for i < len(w.values)-1 && w.upTo[i] <= x { // a value without weight is never drawn
		i++
	}
	return w.values[i]
}

// stream makes failures up, one at a time and in the order of time.
func (m *Mix) stream(r *rand.Rand, start time.Time, length time.Duration) iter.Seq[Failure] {
	tables, codes, severities := newWheel(m.Tables), newWheel(m.Codes), newWheel(m.Severities)
	clock := newDay(m.Hours)
	return func(yield func(Failure) bool) {
		var recent [64]Failure
		left := 1.0 // share of the time that is still to come
		for n := m.Errors; n > 0; n-- {
			// The smallest of n times drawn evenly from what is left, so that the
			// times come in order and need not be kept.
			left *= math.Pow(1-r.Float64(), 1/float64(n))
			f := m.draw(r, &tables, &codes, &severities)
			if made := m.Errors - n; made > 0 && r.Float64() < m.Repeat {
				f = recent[r.IntN(min(made, len(recent)))]
			}
			f.At = start.Add(clock.at((1 - left) * float64(length/day)))
			recent[(m.Errors-n)%len(recent)] = f
			if !yield(f) {
				return
			}
		}
	}
}

// draw makes up one failure, its time aside.
func (m *Mix) draw(r *rand.Rand, tables *wheel[string], codes *wheel[recoup.Code], severities *wheel[recoup.Severity]) Failure {
	f := Failure{Table: tables.spin(r), Code: codes.spin(r), Severity: severities.spin(r)}
	if r.Float64() >= m.NoEntity {
		f.EntityID = "entity-" + strconv.Itoa(r.IntN(m.Entities))
	}
	if r.Float64() < m.RetryAfter {
		f.RetryAfter = time.Duration(r.Int64N(int64(time.Hour))).Truncate(time.Second)
	}
	return f
}

// hours is the shape of a day: the share of its failures up to each full hour.
type hours [25]float64

func newDay(weights [24]float64) hours {
	var h hours
	for i, w := range weights {
		h[i+1] = h[i] + w
	}
	for i := range h {
		h[i] /= h[24]
	}
	return h
}

// at turns days that pass evenly into days that pass as the shape says.
func (h *hours) at(days float64) time.Duration {
	whole, share := math.Modf(days)
	i := 0
	for i < 23 && (h[i+1] <= share || h[i+1] == h[i]) {
		i++
	}
	hour := float64(i)
	if width := h[i+1] - h[i]; width > 0 {
		hour += (share - h[i]) / width
	}
	return time.Duration(whole)*day + time.Duration(hour*float64(time.Hour)).Truncate(time.Millisecond)
}
