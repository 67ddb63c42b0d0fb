package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// Requests without a key read pages and sign in. They have a small part of the node of their
// own, so that none of what calls with a key need is ever taken by them: a rate for each
// address and for all, and few slots, for which a few more requests wait in line. Liveness and
// readiness are not counted.
const (
	anonymousTotal = 4           // all addresses have so many times the rate and the places of one
	anonymousLine  = 4           // so many times the slots are places: served, or waiting for a slot
	anonymousWait  = time.Second // that a request waits for a slot at most

	// maxHeldBack is how many refusals are held back at a time; others are answered at once.
	maxHeldBack = 512
)

// Costs of requests without a key, in requests.
const (
	CostPage   = 1
	costLookup = 10 // of a session that may be made up
)

// anonymous is what requests without a key have.
type anonymous struct {
	perSecond int
	hold      time.Duration
	byAddress rates[netip.Addr]
	total     rates[struct{}]
	slots     chan struct{}

	mu      sync.Mutex
	here    int
	at      map[netip.Addr]int
	most    int // slots that were in use at once
	held    int
	refused int64
}

func newAnonymous(l Limits) *anonymous {
	return &anonymous{
		perSecond: l.Anonymous, hold: l.HoldBack, byAddress: newRates[netip.Addr](l.Anonymous), total: newRates[struct{}](anonymousTotal * l.Anonymous),
		slots: make(chan struct{}, l.AnonymousSlots), at: map[netip.Addr]int{},
	}
}

// Anonymous admits a request without a key that costs as much as so many pages. leave is to be
// called once its answer is made. A refusal is held back for a moment first.
func (s *Server) Anonymous(r *http.Request, cost int) (leave func(), err error) {
	n, who := s.admission.anonymous, network(s.client(r))
	err = n.spend(who, s.Wall(), cost)
	if err == nil {
		leave, err = n.enter(r.Context(), who)
	}
	if err != nil {
		n.holdBack(r.Context())
	}
	return leave, err
}

// AdmitVisitor is [server.Anonymous] for a page of the console, which may have to look up a session
// that does not exist.
func (s *Server) AdmitVisitor(r *http.Request, lookup bool) (leave func(), err error) {
	if lookup {
		return s.Anonymous(r, costLookup)
	}
	return s.Anonymous(r, CostPage)
}

// spend takes from the rate of an address and from that of all.
func (n *anonymous) spend(who netip.Addr, now time.Time, cost int) error {
	if wait := n.byAddress.take(who, now, cost); wait > 0 {
		return fault.New(fault.CodeRateLimitExceeded, "Rate limit reached: %d requests without a key per second from this address. Wait, or send a key.", n.perSecond).
			With("limit", n.perSecond).With("window_sec", 1).After(max(wait, time.Second))
	}
	if wait := n.total.take(struct{}{}, now, cost); wait > 0 {
		return anonymousBusy(wait)
	}
	return nil
}

// charge takes more from the rates, as far as they go, of a request that has cost more.
func (n *anonymous) charge(who netip.Addr, now time.Time, cost int) {
	n.byAddress.charge(who, now, cost)
	n.total.charge(struct{}{}, now, cost)
}

// ChargeAnonymous takes the rest of what a request without a key has cost.
func (s *Server) ChargeAnonymous(r *http.Request, cost int) {
	s.admission.anonymous.charge(network(s.client(r)), s.Wall(), cost)
}

func anonymousBusy(wait time.Duration) error {
	return fault.New(fault.CodeServiceOverloaded, "Too many requests without a key. Requests with a key are served as usual.").After(max(wait, time.Second))
}

// enter takes a slot, or waits for one if there is a place in line.
func (n *anonymous) enter(ctx context.Context, who netip.Addr) (leave func(), err error) {
	places := anonymousLine * cap(n.slots)
	n.mu.Lock()
	switch {
	case n.at[who] >= max(places/anonymousTotal, 1):
		n.mu.Unlock()
		return nil, fault.New(fault.CodeRateLimitExceeded, "Limit reached: %d concurrent requests without a key from this address. Wait for their answers, or send a key.", max(places/anonymousTotal, 1)).
			With("limit", max(places/anonymousTotal, 1)).After(time.Second)
	case n.here >= places:
		n.mu.Unlock()
		return nil, anonymousBusy(time.Second)
	}
	n.here++
	n.at[who]++
	n.mu.Unlock()
	wait := time.NewTimer(anonymousWait)
	defer wait.Stop()
	select {
	case n.slots <- struct{}{}:
		n.note()
		return func() { <-n.slots; n.left(who) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-wait.C:
		err = anonymousBusy(time.Second)
	}
	n.left(who)
	return nil, err
}

func (n *anonymous) left(who netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.here--
	if n.at[who]--; n.at[who] == 0 {
		delete(n.at, who)
	}
}

// note remembers how many slots were in use at once.
func (n *anonymous) note() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.most = max(n.most, len(n.slots))
}

// holdBack counts a refusal, and waits before it is answered, so that a caller that repeats its
// request at once costs little.
func (n *anonymous) holdBack(ctx context.Context) {
	n.mu.Lock()
	n.refused++
	if n.held >= maxHeldBack {
		n.mu.Unlock()
		return
	}
	n.held++
	n.mu.Unlock()
	wait := time.NewTimer(n.hold)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held--
}

// AnonymousFigures are how requests without a key do.
type AnonymousFigures struct {
	InFlight, Most, Slots int // slots in use, the most that were in use at once, and all
	Refused               int64
}

// AnonymousFigures returns how requests without a key do.
func (s *Server) AnonymousFigures() AnonymousFigures {
	n := s.admission.anonymous
	n.mu.Lock()
	defer n.mu.Unlock()
	return AnonymousFigures{len(n.slots), n.most, cap(n.slots), n.refused}
}

// Sign-ins are few: a rate for each address, whatever key is tried, and for each key.
const (
	signInsPerAddress = 5 // in a second
	signInsPerKey     = 1
	signInBurst       = 100
)

// SignIn admits a sign-in from the address of a request, whatever its key is.
func (s *Server) SignIn(r *http.Request) error {
	return signInsLeft(s.admission.signIns.take(network(s.client(r)), s.Wall(), 1), "from this address")
}

// SignInWith admits a sign-in with a key that is valid.
func (s *Server) SignInWith(hash [32]byte) error {
	return signInsLeft(s.admission.signInsWith.take(hash, s.Wall(), 1), "with this key")
}

func signInsLeft(wait time.Duration, which string) error {
	if wait == 0 {
		return nil
	}
	return fault.New(fault.CodeRateLimitExceeded, "Too many sign-ins %s. Wait before you sign in again.", which).After(max(wait, time.Second))
}
