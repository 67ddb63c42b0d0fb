package push

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// backoff is the backoff of a receiver by its failures in a row. A longer Retry-After
// is honoured, up to the cap.
var backoff = retry.Schedule{Kind: retry.Exponential, Base: time.Second, Multiplier: 2, Cap: 5 * time.Minute, Jitter: retry.Full}

const (
	soonest = time.Second // after a failure

	// RecordTime is how long before the end of its lease a delivery is broken off or given
	// back: time to record that.
	RecordTime = 5 * time.Second
)

// receiver is an address that work is delivered to.
type receiver struct {
	plan
	source Source
	client *http.Client
	now    func() time.Time
	random func() float64
	log    *slog.Logger
	cut    <-chan struct{}
	under  sync.WaitGroup // passes and deliveries

	mu      sync.Mutex // guards these, and what changes of status
	stopped bool
	running int // deliveries, and places for those that are being claimed
	places  int // of these, places
	era     int // counts failures; the result of a delivery begun in an earlier era is stale
	aside   []setAside
	failed  []string // keys of deliveries that have failed and are put aside, the longest ago first
}

func newReceiver(c Config, o *Options, cut <-chan struct{}) *receiver {
	p := c.plan()
	r := &receiver{
		plan: p, client: notify.NewClient(o.Roots, p.publicOnly, p.status.Concurrency),
		now: o.Now, random: o.Random, log: o.Logger, cut: cut,
	}
	kind, _ := find(o.kinds(), c.Kind) // it was checked
	for _, outcome := range slices.Concat(kind.Outcomes, []string{outcomeTaken, outcomeLost, outcomeFailed}) {
		r.status.Deliveries[outcome] = 0
	}
	r.source = o.sources()[c.Kind]("push:"+c.Name, c.Values)
	return r
}

// pass claims as much as the receiver takes and delivers it, beside the caller.
func (r *receiver) pass(ctx context.Context) error {
	if err := r.giveBack(ctx, false); err != nil {
		return err
	}
	places, era := r.reserve()
	if places == 0 {
		return nil
	}
	defer r.under.Done()
	deliveries, err := r.claim(ctx, places)
	r.fill(places, len(deliveries))
	for _, p := range deliveries {
		r.under.Go(func() {
			r.deliver(context.WithoutCancel(ctx), p, era)
			r.free()
			if len(deliveries) == places { // there may be more
				_ = r.pass(ctx) // a failure comes up again, and is reported, in the scheduled pass
			}
		})
	}
	return err
}

// reserve takes the places that are free. One that has failed gets one delivery at a
// time until it takes something. Whoever gets places is under way until they say Done.
func (r *receiver) reserve() (places, era int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.now().Before(r.status.Until) {
		return 0, r.era
	}
	most := r.status.Concurrency
	if r.status.Failures > 0 {
		most = 1
	}
	places = max(0, most-r.running)
	r.running += places
	r.places += places
	if places > 0 {
		r.under.Add(1)
	}
	return places, r.era
}

// fill puts deliveries into places that were reserved, and frees the rest.
func (r *receiver) fill(places, deliveries int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places -= places
	r.running -= places - deliveries
}

// free frees the place of a delivery.
func (r *receiver) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}

func (r *receiver) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
}

// note counts an outcome. A receiver whose answer it is works again, unless another
// delivery has failed after this one began.
func (r *receiver) note(p Delivery, outcome string, era int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Deliveries[outcome]++
	r.clearFailed(p)
	if era != r.era || r.status.Failures == 0 {
		return
	}
	r.status.Failures, r.status.Until = 0, time.Time{}
	r.log.Info("receiver recovered", "receiver", r.status.Name)
}

// fail counts a failed delivery and makes the receiver back off. Deliveries that fail
// together count once.
func (r *receiver) fail(p Delivery, t *trouble, era int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.status.Deliveries[outcomeFailed]++
	r.clearFailed(p)
	if _, yes := p.Aside(); yes {
		r.failed = append(r.failed[max(0, len(r.failed)+1-maxFailed):], p.Key())
	}
	if era == r.era {
		r.era++
		r.status.Failures++
	}
	wait := max(soonest, backoff.Delay(r.status.Failures, r.random), min(t.after, backoff.Cap))
	if until := now.Add(wait); until.After(r.status.Until) {
		r.status.Until = until
	}
	if r.status.Failures == 1 || r.status.LastError != t.reason {
		text := "receiver failing; backing off"
		if t.misconfigured {
			text = "receiver refuses deliveries: its address or its secret may be wrong"
		}
		r.log.Warn(text, "receiver", r.status.Name, "reason", t.reason)
	}
	r.status.LastError, r.status.LastErrorAt, r.status.Misconfigured = t.reason, now, t.misconfigured
}

// report returns the receiver's state. A failure that came after the receiver had
// recovered makes it back off, and nothing else.
func (r *receiver) report() wire.Receiver {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.status
	out.State, out.InFlight, out.Deliveries = wire.ReceiverBackingOff, r.running-r.places, maps.Clone(out.Deliveries)
	if out.Failures == 0 {
		out.State, out.Until, out.Misconfigured = wire.ReceiverUp, time.Time{}, false
	} else if !r.now().Before(out.Until) {
		out.Until = time.Time{}
	}
	return out
}
