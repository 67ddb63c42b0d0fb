package httpapi

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// keyShare is which part of everything that is short one key may have.
const keyShare = 4

// carriage is what a request costs beside its body and its answer while it has no
// slot: its connection, buffers and goroutine, and that somebody counts them.
const carriage = 64 << 10

// usage is what requests have of the node at once.
type usage struct {
	busy    int // served
	waiting int // claims that wait, which cost little meanwhile
	streams int // of events, which cost little between two of them
	held    int // bytes
}

// account is what the requests of one key have.
type account struct {
	usage
	visits int // nobody visits: it is forgotten
}

// visit is what one request has of the node. Whatever it still has at its end is
// given back.
type visit struct {
	g    *admissionControl
	load Load
	id   recoup.ID
	key  *account // of its key; nil: no key was needed
	took usage    // of which this much is its own
}

// admit lets a request send its body, unless its key asks too often or has more
// on its way than its share.
func (g *admissionControl) admit(c *Call) (*visit, error) {
	v := &visit{g: g, load: c.route.load}
	if c.Key != nil {
		if err := g.keyRate(c.Key, c.Now); err != nil {
			return nil, err
		}
		v.id = c.Key.ID
		v.key = g.accountOf(v.id)
	}
	if err := v.hold(carriage); err != nil {
		v.end()
		return nil, err
	}
	return v, nil
}

// keyRate takes a request from the rate of a key.
func (g *admissionControl) keyRate(key *wire.Key, now time.Time) error {
	wait := g.byKey.take(key.ID, now, 1)
	if wait == 0 {
		return nil
	}
	return fault.New(fault.CodeRateLimitExceeded, "The key has sent more than %d requests in a second.", g.limits.PerKey).
		With("limit", g.limits.PerKey).With("window_sec", 1).After(max(wait, time.Second))
}

func (g *admissionControl) accountOf(id recoup.ID) *account {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[id]
	if k == nil {
		k = &account{}
		g.keys[id] = k
	}
	k.visits++
	return k
}

// hold takes so many bytes more. The vital have a reserve, as they have of slots.
func (v *visit) hold(bytes int) error {
	bound := v.g.limits.Memory
	if v.load == LoadPriority {
		bound += bound / keyShare
	}
	return v.reserve(usage{held: bytes}, bound, usage.bytes, "bytes of requests and answers under way")
}

// enter takes a slot, once the request is complete: from here on it is bounded by
// the number of slots. What is vital is counted with the rest: it is what the
// machine can do at once that is short, and the reserve is the part of it that
// only the vital get.
func (v *visit) enter(l Load) error {
	limits := v.g.limits
	switch l {
	case LoadWaiting:
		return v.reserve(usage{waiting: 1, held: -carriage}, limits.Waiting, usage.polls, "claims waiting")
	case LoadStreaming:
		return v.reserve(usage{streams: 1}, limits.Streams, usage.open, "open streams")
	case LoadPriority:
		return v.reserve(usage{busy: 1, held: -carriage}, limits.InFlight+limits.Reserved, usage.requests, "requests being served")
	case LoadSheddable:
		return v.reserve(usage{busy: 1, held: -carriage}, limits.InFlight, usage.requests, "requests being served")
	}
	v.change(usage{held: -carriage}) // always, which costs nothing
	return nil
}

func (u usage) bytes() int    { return u.held }
func (u usage) polls() int    { return u.waiting }
func (u usage) open() int     { return u.streams }
func (u usage) requests() int { return u.busy }

// leave gives back everything but what an answer of that size takes until it is
// read. That is never refused, because what was asked for is done.
func (v *visit) leave(answer int) {
	v.change(usage{busy: -v.took.busy, waiting: -v.took.waiting, held: carriage + answer - v.took.held})
}

// end gives back everything.
func (v *visit) end() {
	v.g.mu.Lock()
	defer v.g.mu.Unlock()
	v.add(usage{busy: -v.took.busy, waiting: -v.took.waiting, streams: -v.took.streams, held: -v.took.held})
	if v.key == nil {
		return
	}
	if v.key.visits--; v.key.visits == 0 {
		delete(v.g.keys, v.id)
	}
}

func (v *visit) change(by usage) {
	v.g.mu.Lock()
	defer v.g.mu.Unlock()
	v.add(by)
}

func (v *visit) add(by usage) {
	v.g.all.add(by)
	v.took.add(by)
	if v.key != nil {
		v.key.add(by)
	}
}

func (u *usage) add(by usage) {
	u.busy, u.waiting, u.streams, u.held = u.busy+by.busy, u.waiting+by.waiting, u.streams+by.streams, u.held+by.held
}

// reserve takes more unless that is above the bound, or above the key's share of
// it. Those who are turned away are not counted for a moment either, or a flood of
// them would turn away others.
func (v *visit) reserve(more usage, bound int, of func(usage) int, what string) error {
	v.g.mu.Lock()
	defer v.g.mu.Unlock()
	share := max(bound/keyShare, 1)
	switch {
	case v.load == LoadAlways:
	case of(v.g.all)+of(more) > bound:
		v.g.full = v.g.wall()
		return fault.New(fault.CodeServiceOverloaded, "There is too much to do right now; nothing was done.").After(time.Second)
	case v.key != nil && of(v.key.usage)+of(more) > share:
		return fault.New(fault.CodeRateLimitExceeded, "The key has its share of %s, %d, and others need theirs; nothing was done.", what, share).
			With("limit", share).After(time.Second)
	}
	v.add(more)
	return nil
}
