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
	total    time.Duration
	longest  time.Duration
}

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

// open books one blocking error less.
func (g gate) open(name string, now time.Time) {
	e := g[name]
	if e.blockers--; e.blockers == 0 {
		e.end(now)
	}
}

func (e *entity) end(now time.Time) {
	spell := now.Sub(e.since)
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

// sum closes the books: spells that go on are counted up to now.
func (g gate) sum(now time.Time) Blocked {
	var b Blocked
	var total, longest time.Duration
	for _, e := range g {
		if e.blockers > 0 {
			b.Now++
			e.end(now)
		}
		b.Entities++
		b.Spells += e.spells
		total += e.total
		longest = max(longest, e.longest)
	}
	b.TotalSeconds, b.LongestSeconds = int64(total/time.Second), int64(longest/time.Second)
	if b.Spells > 0 {
		b.MeanSeconds = int64(total / time.Duration(b.Spells) / time.Second)
	}
	return b
}
