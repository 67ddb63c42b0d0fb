package httpapi

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Limits bound what callers can take. Zero values are replaced by the defaults.
type Limits struct {
	PerKey         int // requests of one key per second; twice as many in a burst
	Unkeyed        int // requests without a valid key of one address per second; twice as many in a burst
	Anonymous      int // requests for pages and sign-ins of one address per second; twice as many in a burst
	AnonymousSlots int // that such requests are served at once

	InFlight int // requests at once from which on those that can come again are turned away
	Reserved int // how many more of the gate and of operators are let in
	Waiting  int // claims that wait for work
	Reads    int // lists and other requests that may read much, served at once
	Streams  int // streams of events that are open
	Names    int // services and lanes that one key may make up in a day
	Memory   int // bytes of bodies that were received and not answered, and of answers that were not read

	HoldBack time.Duration // after which who has no valid key is refused
	Time     time.Duration // of one request; those that touch thousands of errors have three times that
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, value int) {
		if *v <= 0 {
			*v = value
		}
	}
	set(&l.PerKey, 2000)
	set(&l.Unkeyed, 2000)
	set(&l.Anonymous, 500)
	set(&l.AnonymousSlots, 8)
	set(&l.InFlight, 256)
	set(&l.Reserved, 128)
	set(&l.Waiting, 4096)
	set(&l.Reads, 4)
	set(&l.Streams, 400)
	set(&l.Names, 1000)
	set(&l.Memory, 256<<20)
	if l.HoldBack <= 0 {
		l.HoldBack = time.Second
	}
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
	return l
}

// admissionControl turns requests away early: a key that asks too often or takes more
// than its share, and everything that can come again while there is too much to do.
type admissionControl struct {
	limits Limits
	wall   func() time.Time

	byKey     rates[recoup.ID]
	byAddress rates[netip.Addr] // of requests without a valid key

	anonymous   *anonymous
	signIns     rates[netip.Addr]
	signInsWith rates[[32]byte] // by the hash of the key

	mu   sync.Mutex
	all  usage // what requests have of the node
	keys map[recoup.ID]*account
	full time.Time // when something was turned away for want of room
}

func newAdmissionControl(l Limits, wall func() time.Time) *admissionControl {
	l = l.withDefaults()
	return &admissionControl{
		limits: l, wall: wall, keys: map[recoup.ID]*account{},
		byKey: newRates[recoup.ID](l.PerKey), byAddress: newRates[netip.Addr](l.Unkeyed),
		anonymous: newAnonymous(l), signIns: newBurstRates[netip.Addr](signInsPerAddress, signInBurst), signInsWith: newBurstRates[[32]byte](signInsPerKey, signInBurst),
	}
}

// overloaded reports whether requests are turned away, or were a moment ago.
func (g *admissionControl) overloaded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.busy >= g.limits.InFlight || !g.full.IsZero() && g.wall().Sub(g.full) < 2*time.Second
}

// InFlight returns how many requests are being served.
func (s *Server) InFlight() int64 {
	s.admission.mu.Lock()
	defer s.admission.mu.Unlock()
	return int64(s.admission.all.busy + s.admission.all.waiting)
}

// Overloaded reports whether requests are turned away, or were a moment ago.
func (s *Server) Overloaded() bool { return s.admission.overloaded() }

// names bounds how many services and lanes a key can make up in a day. Each costs
// memory, rows a minute and series for as long as it is remembered.
//
// A node knows what was named since it started, so that a restart allows as many
// again, and every node counts for itself.
type names struct {
	limit int
	seed  maphash.Seed

	mu          sync.Mutex
	known, last map[uint64]struct{} // by hash; last is what was known when known was full
	day         time.Time
	made        map[recoup.ID]int // by key, that day
}

// maxKnownNames bounds what a node remembers, in each of its two generations.
const maxKnownNames = 50_000

func newNames(limit int) *names {
	return &names{limit: limit, seed: maphash.MakeSeed(), known: map[uint64]struct{}{}, made: map[recoup.ID]int{}}
}

// CheckName refuses a new name, such as that of a service, once the key has used up its number of
// new names of the day. Names that the node has seen are allowed.
func (c *Call) CheckName(kind, name string) error {
	n := c.server.names
	if n.admit(c, kind, name) {
		return nil
	}
	return fault.New(fault.CodeQuotaExceeded, "The key has named %d new pipelines, stages and services today; use one that is known, or come back tomorrow.", n.limit).
		With("limit", n.limit).With("window_sec", 24*60*60)
}

// admit reports whether a key may use a name: one that is known, or a new one if it
// has made up few today.
func (n *names) admit(c *Call, kind, name string) bool {
	if c.Key == nil || name == "" {
		return true
	}
	hash := maphash.String(n.seed, kind+"\x00"+name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[hash]; ok {
		return true
	}
	if day := c.Now.UTC().Truncate(24 * time.Hour); !day.Equal(n.day) {
		n.day = day
		clear(n.made)
	}
	if _, ok := n.last[hash]; !ok {
		if n.made[c.Key.ID] >= n.limit {
			return false
		}
		n.made[c.Key.ID]++
	}
	if len(n.known) >= maxKnownNames {
		n.last, n.known = n.known, map[uint64]struct{}{}
	}
	n.known[hash] = struct{}{}
	return true
}
