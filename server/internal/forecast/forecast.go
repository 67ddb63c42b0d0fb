// Package forecast says when a queue is empty at the present pace, or that it will not be,
// and how many deadlines are missed. It is a function of counts: it reads nothing, and
// where the counts are too few it says so instead of guessing.
package forecast

import (
	"math"
	"time"
)

// Verdict is what can be said.
type Verdict string

// What can be said of a queue.
const (
	TooLittle Verdict = "too_little_data" // too little has happened to tell
	Empty     Verdict = "empty"           // nothing waits
	Drains    Verdict = "drains"          // it will be empty, at the latest at Latest
	Grows     Verdict = "will_not_drain"  // at this pace it will not be
	Unsure    Verdict = "may_not_drain"   // at the earliest at Earliest, if at all
)

const (
	// minSamples is from how many on events make a rate, as for alerts.
	minSamples = 20

	// minIntervals is how many intervals show a spread.
	minIntervals = 3

	// spread is how many standard errors a range has on either side: nine in ten.
	spread = 1.645

	// horizon is the longest time that is told; what takes longer does not drain.
	horizon = 365 * 24 * time.Hour
)

// Pace is what happened in intervals of equal length, oldest first.
type Pace struct {
	Every time.Duration
	New   []int64 // that came
	Done  []int64 // that left
}

// Outlook is what is said of a queue, with the figures that it was made of.
type Outlook struct {
	Verdict       Verdict
	Waiting       int64
	NewPerMinute  float64
	DonePerMinute float64
	Earliest      time.Duration // until it is empty
	Latest        time.Duration // zero: perhaps never
}

// Queue says when what waits is done.
func Queue(waiting int64, p Pace) Outlook {
	o := Outlook{Waiting: waiting, NewPerMinute: p.perMinute(p.New), DonePerMinute: p.perMinute(p.Done)}
	if waiting <= 0 {
		o.Verdict = Empty
		return o
	}
	if !p.enough() {
		o.Verdict = TooLittle
		return o
	}
	low, high := p.net()
	_, most := p.done()
	high = min(high, most) // however little comes, no more leaves than is done
	if o.Earliest = until(waiting, high, p.Every); o.Earliest == 0 {
		o.Verdict = Grows
		return o
	}
	o.Verdict = Drains
	if o.Latest = until(waiting, low, p.Every); o.Latest == 0 {
		o.Verdict = Unsure
	}
	return o
}

// until is how long so many take at a rate per interval; zero: for ever.
func until(n int64, rate float64, every time.Duration) time.Duration {
	took := float64(n) / rate * float64(every)
	if rate <= 0 || took > float64(horizon) {
		return 0
	}
	return max(time.Duration(took), 1)
}

// enough reports whether there is anything to go by.
func (p Pace) enough() bool {
	return p.Every > 0 && len(p.New) == len(p.Done) && len(p.Done) >= minIntervals && sum(p.New)+sum(p.Done) >= minSamples
}

// net is by how much a queue shrinks in an interval, as a range: the mean, with what the
// intervals differ by or, if that is more, with what counts vary by chance.
func (p Pace) net() (low, high float64) {
	n := float64(len(p.Done))
	mean := (sum(p.Done) - sum(p.New)) / n
	varied := 0.0
	for i := range p.Done {
		d := float64(p.Done[i]) - float64(p.New[i]) - mean
		varied += d * d
	}
	byChance := (sum(p.Done) + sum(p.New)) / n
	margin := spread * math.Sqrt(max(varied/(n-1), byChance)/n)
	return mean - margin, mean + margin
}

func (p Pace) perMinute(counts []int64) float64 {
	if p.Every <= 0 || len(counts) == 0 {
		return 0
	}
	return sum(counts) / float64(len(counts)) / p.Every.Minutes()
}

func sum(counts []int64) (total float64) {
	for _, n := range counts {
		total += float64(n)
	}
	return total
}
