package load

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Operation is one of a plan.
type Operation struct {
	Kind   string
	Nth    int           // its place among those of its kind, from 0
	Due    time.Duration // when it is to begin, since the start
	Random uint64        // for whoever carries it out

	mix    Mix
	before []int
}

// Before is how many operations of a kind the plan has before this one.
func (o *Operation) Before(kind string) int {
	for i, s := range o.mix {
		if s.Kind == kind {
			return o.before[i]
		}
	}
	return 0
}

// Plan is which operation begins when. It is made before anything is known of the server,
// so a slow answer delays none of it: an open loop. The same seed is the same plan.
type Plan struct {
	mix    Mix
	rate   int // operations per second
	length int
	random *rand.Rand
	next   int
	counts []int // of each share, so far
}

// NewPlan plans operations at a rate per second, evenly spaced, for a time.
func NewPlan(mix Mix, rate int, duration time.Duration, seed uint64) *Plan {
	return &Plan{
		mix: slices.Clone(mix), rate: rate, length: count(rate, duration),
		random: rand.New(rand.NewPCG(seed, 0)), counts: make([]int, len(mix)),
	}
}

// count is how many operations are due before an offset.
func count(rate int, offset time.Duration) int {
	return int((max(offset, 0)*time.Duration(rate) + time.Second - 1) / time.Second)
}

// Next returns the next operation; false: there is none.
func (p *Plan) Next() (Operation, bool) {
	if p.next >= p.length {
		return Operation{}, false
	}
	at := p.mix.pick(p.random.IntN(p.mix.total()))
	op := Operation{
		Kind: p.mix[at].Kind, Nth: p.counts[at], Due: time.Duration(p.next) * time.Second / time.Duration(p.rate),
		Random: p.random.Uint64(), mix: p.mix, before: slices.Clone(p.counts),
	}
	p.counts[at]++
	p.next++
	return op, true
}

// dueBy is how many operations are due before an offset.
func (p *Plan) dueBy(offset time.Duration) int { return min(count(p.rate, offset), p.length) }

// span is the time that the plan takes.
func (p *Plan) span() time.Duration {
	return time.Duration(p.length) * time.Second / time.Duration(p.rate)
}
