package forecast

import (
	"math"
	"slices"
	"time"
)

// Deadlines is how many things have their deadline in a stretch of time from now. Both
// ends are negative for what is past.
type Deadlines struct {
	From, To time.Duration // the first of them, and by when all of them are over
	N        int64
}

// What can be said of deadlines, beside TooLittle and Empty.
const (
	InTime  Verdict = "in_time"   // all of them are met
	MayMiss Verdict = "may_miss"  // between none and Most are missed
	Misses  Verdict = "will_miss" // at least Fewest are missed
)

// Missed is how many deadlines are missed that have not passed.
type Missed struct {
	Verdict      Verdict
	Of           int64 // deadlines that are still to come
	Fewest, Most int64
	First        time.Duration // the earliest that may be missed; zero: none
}

// Missing says how many deadlines come before anybody gets there, if those that come first
// are reached first: what is past is in the way, and takes its part of the pace, if it
// waits all the same. Pace.Done is what was reached, and Pace.New what came: where little
// was reached of much that came, that is known too.
//
// Within a stretch, the fewest are missed if all deadlines lie at its end, and the most if
// all lie at its beginning: what is told holds whatever the stretches are.
func Missing(list []Deadlines, overdue int64, p Pace) Missed {
	m := Missed{Verdict: Empty}
	coming := slices.DeleteFunc(slices.Clone(list), func(d Deadlines) bool { return d.N <= 0 || d.To <= 0 })
	for _, d := range coming {
		m.Of += d.N
	}
	if m.Of == 0 {
		return m
	}
	p = p.Known()
	if !p.enough() {
		m.Verdict = TooLittle
		return m
	}
	slices.SortFunc(coming, func(a, b Deadlines) int { return int(a.To - b.To) })
	low, high := p.done()
	first := time.Duration(0)
	m.Fewest, _ = late(coming, overdue, high, p.Every, func(d Deadlines) time.Duration { return d.To })
	m.Most, first = late(coming, overdue, low, p.Every, func(d Deadlines) time.Duration { return max(d.From, 0) })
	m.Most = max(m.Most, m.Fewest)
	switch m.First = first; {
	case m.Fewest > 0:
		m.Verdict = Misses
	case m.Most > 0:
		m.Verdict = MayMiss
	default:
		m.Verdict = InTime
	}
	return m
}

// late counts what is not reached in time at a rate per interval, and says when the first
// of it may be due.
func late(sorted []Deadlines, overdue int64, rate float64, every time.Duration, at func(Deadlines) time.Duration) (missed int64, first time.Duration) {
	reached := float64(max(overdue, 0))
	for _, d := range sorted {
		room := math.Floor(rate*float64(at(d))/float64(every)) - reached
		now := math.Min(math.Max(room, 0), float64(d.N))
		reached += now
		if left := d.N - int64(now); left > 0 {
			if missed == 0 {
				first = max(d.From, 1)
			}
			missed += left
		}
	}
	return missed, first
}

// done is how much is done in an interval, as a range.
func (p Pace) done() (low, high float64) {
	low, high = Pace{Every: p.Every, New: make([]int64, len(p.Done)), Done: p.Done}.net()
	return max(low, 0), high
}

// Known leaves out the intervals before anything came or was done: a queue has no pace
// before it has a first item.
func (p Pace) Known() Pace {
	if len(p.New) != len(p.Done) {
		return p
	}
	for len(p.Done) > 0 && p.New[0] == 0 && p.Done[0] == 0 {
		p.New, p.Done = p.New[1:], p.Done[1:]
	}
	return p
}
