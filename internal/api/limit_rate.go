package api

import (
	"net/netip"
	"sync"
	"time"

	"recoup/fault"
)

// maxRates is of how many callers a rate is known at once. Whoever comes beyond that
// shares one rate with all others who do: nobody gets memory by making up addresses.
const maxRates = 1 << 16

// rates bound how often each of many may come: so often in a second, and twice that
// in a burst.
type rates[K comparable] struct {
	perSecond int

	mu    sync.Mutex
	empty map[K]time.Time // when a caller's tokens were, or will be, used up
	swept time.Time
}

func newRates[K comparable](perSecond int) rates[K] {
	return rates[K]{perSecond: perSecond, empty: map[K]time.Time{}}
}

// take takes a token, or returns how long it takes until there is one.
func (r *rates[K]) take(who K, now time.Time) time.Duration {
	cost := time.Second / time.Duration(r.perSecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	empty, known := r.empty[who]
	if !known && len(r.empty) >= maxRates {
		var others K
		who = others
		empty = r.empty[who]
	}
	full := now.Add(-2 * time.Second)           // a burst of twice the rate
	if empty.Before(full) || empty.After(now) { // or the clock was set back
		empty = full
	}
	next := empty.Add(cost)
	if next.After(now) {
		return next.Sub(now)
	}
	r.empty[who] = next
	return 0
}

// sweep forgets who has not come for a while.
func (r *rates[K]) sweep(now time.Time) {
	if d := now.Sub(r.swept); d >= 0 && d < time.Minute {
		return
	}
	r.swept = now
	for who, empty := range r.empty {
		if now.Sub(empty) > time.Minute {
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
func (g *gatekeeper) unkeyed(client netip.Addr, now time.Time) error {
	wait := g.byAddress.take(network(client), now)
	if wait == 0 {
		return nil
	}
	return fault.New(fault.CodeRateLimitExceeded, "This address has sent more than %d requests without a valid key in a second: send Authorization: Bearer KEY.", g.limits.Unkeyed).
		With("limit", g.limits.Unkeyed).With("window_sec", 1).After(max(wait, time.Second))
}
