package simulation

import "time"

// gate books for how long entities are blocked. Errors that block the same
// entity at the same time block it once.
type gate map[string]*entity

// entity is the history of one entity at the gate. It is kept when the gate
// opens, so that each is counted once.
type entity struct {
	blockers int
	since    time.Time
	spells   int
	expiries int // spells that ended because the last error expired
	total    millis
	longest  millis
}

// millis is a length of time in milliseconds. Blocked time is a sum over all
// entities, for which the 292 years of a [time.Duration] are too few.
type millis int64

func between(from, to time.Time) millis { return millis(to.UnixMilli() - from.UnixMilli()) }

func (m millis) seconds() int64 { return int64(m / 1000) }

// shut books one more blocking error.
func (g gate) shut(name string, now time.Time) {
	e := g[name]
	if e == nil {
		e = &entity{}
		g[name] = e
	}
	if e.blockers++; e.blockers == 1 {
		e.since = now
		e.spells++
	}
}

// open books one blocking error less, which has expired or ceased otherwise.
func (g gate) open(name string, now time.Time, expired bool) {
	e := g[name]
	if e.blockers--; e.blockers > 0 {
		return
	}
	e.end(now)
	if expired {
		e.expiries++
	}
}

func (e *entity) end(now time.Time) {
	spell := between(e.since, now)
	e.total += spell
	e.longest = max(e.longest, spell)
}

// Blocked is for how long entities could not be promoted. A spell lasts from the
// first of overlapping blocking errors to the end of the last.
type Blocked struct {
	Entities       int   `json:"entities"`
	Spells         int   `json:"spells"`
	Now            int   `json:"still_blocked"` // entities, when the simulation ended
	TotalSeconds   int64 `json:"total_seconds"`
	MeanSeconds    int64 `json:"mean_seconds"` // of a spell
	LongestSeconds int64 `json:"longest_seconds"`
}

// sum closes the books: spells that go on are counted up to now. It also returns
// how many spells only an expiry has ended.
func (g gate) sum(now time.Time) (b Blocked, expiries int) {
	var total, longest millis
	for _, e := range g {
		if e.blockers > 0 {
			b.Now++
			e.end(now)
		}
		b.Entities++
		b.Spells += e.spells
		expiries += e.expiries
		total += e.total
		longest = max(longest, e.longest)
	}
	b.TotalSeconds, b.LongestSeconds = total.seconds(), longest.seconds()
	if b.Spells > 0 {
		b.MeanSeconds = (total / millis(b.Spells)).seconds()
	}
	return b, expiries
}
