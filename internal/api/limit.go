package api

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"recoup"
	"recoup/fault"
)

// Limits bound what callers can take. Zero values are replaced by the defaults.
type Limits struct {
	PerKey   int // requests of one key per second; twice as many in a burst
	InFlight int // requests at once from which on those that can come again are turned away
	Reserved int // how many more of the gate and of operators are let in
	Waiting  int // claims that wait for work

	Time time.Duration // of one request; those that touch thousands of errors have three times that
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, value int) {
		if *v <= 0 {
			*v = value
		}
	}
	set(&l.PerKey, 2000)
	set(&l.InFlight, 256)
	set(&l.Reserved, 128)
	set(&l.Waiting, 4096)
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
	return l
}

// gatekeeper turns requests away early: a key that asks too often, and
// everything that can come again while there is too much to do.
type gatekeeper struct {
	limits  Limits
	busy    atomic.Int64 // requests that are served
	waiting atomic.Int64 // claims, which wait and cost nothing meanwhile

	mu      sync.Mutex
	buckets map[recoup.ID]*bucket
	swept   time.Time
}

// bucket holds a key's tokens as the time at which it was, or will be, empty.
type bucket struct{ empty time.Time }

func newGatekeeper(l Limits) *gatekeeper {
	return &gatekeeper{limits: l.withDefaults(), buckets: map[recoup.ID]*bucket{}}
}

// enter admits a request, or says why not; leave is to be called at its end.
func (g *gatekeeper) enter(l load, c *call) (leave func(), err error) {
	if c.key != nil {
		if wait := g.take(c.key.ID, c.now); wait > 0 {
			return nil, fault.New(fault.CodeRateLimitExceeded, "The key has sent more than %d requests in a second.", g.limits.PerKey).
				With("limit", g.limits.PerKey).With("window_sec", 1).After(max(wait, time.Second))
		}
	}
	count, bound := g.room(l)
	if !reserve(count, int64(bound)) {
		return nil, fault.New(fault.CodeServiceOverloaded, "There is too much to do right now; nothing was done.").After(time.Second)
	}
	return func() { count.Add(-1) }, nil
}

// room returns the count that a request belongs to, and the bound that holds for
// it. What is vital is counted with the rest: it is what the machine can do at
// once that is short, and the reserve is the part of it that only the vital get.
func (g *gatekeeper) room(l load) (*atomic.Int64, int) {
	switch l {
	case waiting:
		return &g.waiting, g.limits.Waiting
	case vital:
		return &g.busy, g.limits.InFlight + g.limits.Reserved
	case always:
		return &g.busy, math.MaxInt
	}
	return &g.busy, g.limits.InFlight
}

// reserve counts one more unless the bound is reached. Those who are turned away
// are not counted for a moment either, or a flood of them would turn away others.
func reserve(count *atomic.Int64, bound int64) bool {
	for {
		n := count.Load()
		if n >= bound {
			return false
		}
		if count.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// take takes a token of a key, or returns how long it takes until there is one.
func (g *gatekeeper) take(id recoup.ID, now time.Time) time.Duration {
	cost := time.Second / time.Duration(g.limits.PerKey)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweep(now)
	b := g.buckets[id]
	if b == nil {
		b = &bucket{}
		g.buckets[id] = b
	}
	full := now.Add(-2 * time.Second) // a burst of twice the rate
	if b.empty.Before(full) {
		b.empty = full
	}
	if next := b.empty.Add(cost); next.After(now) {
		return next.Sub(now)
	}
	b.empty = b.empty.Add(cost)
	return 0
}

// sweep forgets keys that have not been used for a while.
func (g *gatekeeper) sweep(now time.Time) {
	if now.Sub(g.swept) < time.Minute {
		return
	}
	g.swept = now
	for id, b := range g.buckets {
		if now.Sub(b.empty) > time.Minute {
			delete(g.buckets, id)
		}
	}
}

// InFlight returns how many requests are being served.
func (a *API) InFlight() int64 { return a.gatekeeper.busy.Load() + a.gatekeeper.waiting.Load() }
