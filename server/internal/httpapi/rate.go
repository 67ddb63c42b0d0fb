package httpapi

import (
	"net/netip"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// maxRates is of how many callers a rate is known at once. Whoever comes beyond that
// shares one rate with all others who do: nobody gets memory by making up addresses.
const maxRates = 1 << 16

// rates bound how often each of many may come: one request in so long on average, and
// several in a burst.
type rates[K comparable] struct {
	every, burst time.Duration // of one request, and of all that may come at once

	mu    sync.Mutex
	empty map[K]time.Time // when a caller's tokens were, or will be, used up
	swept time.Time
}

// newRates allows so many requests in a second, and twice as many in a burst.
func newRates[K comparable](perSecond int) rates[K] {
	return newBurstRates[K](perSecond, 2*perSecond)
}

// newBurstRates allows so many requests in a second, and so many in a burst.
func newBurstRates[K comparable](perSecond, burst int) rates[K] {
	every := time.Second / time.Duration(perSecond)
	return rates[K]{every: every, burst: time.Duration(burst) * every, empty: map[K]time.Time{}}
}

// take takes what so many requests need, or returns how long it takes until that is there.
// Nothing needs more than a burst.
func (r *rates[K]) take(who K, now time.Time, requests int) time.Duration {
	cost := min(time.Duration(requests)*r.every, r.burst)
	r.mu.Lock()
	defer r.mu.Unlock()
	who, empty := r.find(who, now)
	next := empty.Add(cost)
	if next.After(now) {
		return next.Sub(now)
	}
	r.empty[who] = next
	return 0
}

// find returns under whom the rate of a caller is kept, and when its tokens were, or will be,
// used up.
func (r *rates[K]) find(who K, now time.Time) (K, time.Time) {
	r.sweep(now)
	empty, known := r.empty[who]
	if !known && len(r.empty) >= maxRates {
		var others K
		who = others
		empty = r.empty[who]
	}
	full := now.Add(-r.burst)
	if empty.Before(full) || empty.After(now.Add(r.burst)) { // or the clock was set back
		empty = full
	}
	return who, empty
}

// owe takes what so many requests need, also if it is not there: the caller then waits until it
// is. A caller owes a burst at most.
func (r *rates[K]) owe(who K, now time.Time, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	who, empty := r.find(who, now)
	next := empty.Add(time.Duration(requests) * r.every)
	if most := now.Add(r.burst); next.After(most) {
		next = most
	}
	r.empty[who] = next
}

// charge takes what so many requests need, or what is left.
func (r *rates[K]) charge(who K, now time.Time, requests int) {
	for range requests {
		if r.take(who, now, 1) > 0 {
			return
		}
	}
}

// sweep forgets who has not come for a while.
func (r *rates[K]) sweep(now time.Time) {
	if d := now.Sub(r.swept); d >= 0 && d < time.Minute {
		return
	}
	r.swept = now
	for who, empty := range r.empty {
		if now.Sub(empty) > max(time.Minute, r.burst) {
			delete(r.empty, who)
		}
	}
}

// network is who shares a rate with an address: itself, or the 64 bits of IPv6 that
// one customer of a provider has for themselves.
func network(a netip.Addr) netip.Addr {
	if p, err := a.Prefix(64); a.Is6() && err == nil {
		return p.Addr()
	}
	return a
}

// unkeyed lets a request without a valid key go on to be refused, unless its address
// has sent too many of them.
func (g *admissionControl) unkeyed(client netip.Addr, now time.Time) error {
	wait := g.byAddress.take(network(client), now, 1)
	if wait == 0 {
		return nil
	}
	return fault.New(fault.CodeRateLimitExceeded, "This address has sent more than %d requests without a valid key in a second: send Authorization: Bearer KEY.", g.limits.Unkeyed).
		With("limit", g.limits.Unkeyed).With("window_sec", 1).After(max(wait, time.Second))
}

// guessCost is how many requests without a valid key one costs whose key had to be looked up
// and does not exist.
const guessCost = 20

// guessed charges an address for a key that does not exist: the database was asked for it.
func (g *admissionControl) guessed(client netip.Addr, now time.Time) {
	g.byAddress.owe(network(client), now, min(guessCost, max(g.limits.Unkeyed/100, 1))-1)
}
