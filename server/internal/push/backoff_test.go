package push_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A receiver that fails is left alone for longer and longer, with full jitter, from a
// second to five minutes; it may ask for more, within that. It gets one delivery at a
// time until it takes one, and then all that there is.
func TestBackoff(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(nil)
		p := w.pusher(push.Work, r.values("lanes", lane))
		w.submit(12)
		deliveries := 0
		for i, row := range []struct {
			answer http.HandlerFunc
			n      int // deliveries at once
			wait   time.Duration
		}{
			{says(500, ""), 4, time.Second}, // half a second is too soon
			{says(500, ""), 1, time.Second},
			{says(502, ""), 1, 2 * time.Second},
			{says(429, "", "Retry-After", "1"), 1, 4 * time.Second}, // it asks for less than it gets
			{says(429, "", "Retry-After", "100"), 1, 100 * time.Second},
			{says(429, "", "Retry-After", "86400"), 1, 5 * time.Minute},
			{says(503, "", "Retry-After", w.clock().Add(time.Hour).Format(http.TimeFormat)), 1, 5 * time.Minute},
			{says(404, ""), 1, 64 * time.Second},
			{drop, 1, 128 * time.Second},
			{says(500, ""), 1, 150 * time.Second}, // half of five minutes
			{says(500, ""), 1, 150 * time.Second},
		} {
			r.from(row.answer)
			is := p.run()
			if deliveries += row.n; is.Deliveries["failed"] != int64(deliveries) || is.State != wire.ReceiverBackingOff || is.Failures != i+1 || !is.Until.Equal(w.clock().Add(row.wait)) {
				w.Fatalf("%d: it is %+v, want %d deliveries and %v", i, is, deliveries, row.wait)
			}
			w.wait(row.wait - 1)
			if is = p.run(); is.Deliveries["failed"] != int64(deliveries) {
				w.Fatalf("%d: it is not left alone", i)
			}
			w.wait(1)
			if is = p.is(); !is.Until.IsZero() || is.State != wire.ReceiverBackingOff {
				w.Fatalf("%d: it is %+v", i, is)
			}
		}
		r.from(says(204, ""))
		w.wait(2 * time.Minute) // work that has come back waits for a minute at most
		is := p.run()
		p.wants(map[string]int64{"failed": int64(deliveries), "succeed": 12})
		if is.State != wire.ReceiverUp || is.Failures != 0 || is.LastError != "answered with status 500" || is.LastErrorAt.IsZero() {
			w.Errorf("it is %+v", is)
		}
		for _, want := range []string{"receiver failing; backing off", "its address or its secret may be wrong", "receiver recovered"} {
			if strings.Count(w.logged(), want) == 0 {
				w.Errorf("the log lacks %q:\n%s", want, w.logged())
			}
		}
	})
}

// A connection that is refused is no fault of the work.
func TestRefusedConnection(t *testing.T) {
	everywhere(t, func(w *world) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		w.must(err)
		w.must(listener.Close())
		p := w.pusher(push.Work, map[string]string{"url": "http://" + listener.Addr().String() + path, "secret": secret, "lanes": lane, "public-only": "false"})
		id := w.submit(1)[0]
		if is := p.run(); is.LastError != "it refuses connections" {
			w.Errorf("it is %+v", is)
		}
		w.checkQueue("refused", queued, id)
	})
}

// Whatever happens at once, no receiver gets more at once than it takes, and nothing is
// delivered twice, also by several nodes.
func TestConcurrency(t *testing.T) {
	everywhere(t, func(w *world) {
		var now, most atomic.Int64
		r := w.receiver(func(rw http.ResponseWriter, q *http.Request) {
			n := now.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			now.Add(-1)
			says(204, "")(rw, q)
		})
		nodes := []*pusher{w.pusher(push.Work, r.values("lanes", lane, "concurrency", "3")), w.pusher(push.Work, r.values("lanes", lane, "concurrency", "3"))}
		w.submit(200)
		for range 5 {
			for _, p := range nodes {
				w.must(p.Run(w.Context()))
			}
			for _, p := range nodes {
				p.Settle()
			}
		}
		seen := map[string]bool{}
		for _, key := range r.keys() {
			if seen[key] {
				w.Errorf("%s was delivered twice", key)
			}
			seen[key] = true
		}
		if len(seen) != 200 || most.Load() > 6 || len(w.claim()) != 0 {
			w.Errorf("%d were delivered, %d at once", len(seen), most.Load())
		}
	})
}

// A node that stops claims nothing more; what is on its way ends by itself.
func TestStopLetsDeliveriesEnd(t *testing.T) {
	everywhere(t, func(w *world) {
		let := make(chan struct{})
		r := w.receiver(func(rw http.ResponseWriter, q *http.Request) { <-let; says(204, "")(rw, q) })
		p := w.pusher(push.Work, r.values("lanes", lane, "concurrency", "2"))
		w.submit(5)
		w.must(p.Run(w.Context()))
		<-r.arrived
		<-r.arrived
		p.Stop()
		w.must(p.Run(w.Context()))
		close(let)
		w.must(p.Drain(w.Context()))
		p.wants(map[string]int64{"succeed": 2})
		if left := w.claim(); len(left) != 3 || left[0].Lapses != 0 {
			w.Errorf("%d are left", len(left))
		}
	})
}

// When its time is over what is still on its way is broken off and given back, and so
// is what was kept for later. The receiver is not to blame.
func TestDrainGivesBack(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(hang)
		p, kept := w.pusher(push.Work, r.values("lanes", lane)), w.pusher(gatezero.ReceiverKind, r.values())
		w.submit(2)
		ids := []recoup.ID{w.failed("", "Acme"), w.failed("", "Beta")}
		w.wait(day)
		r.from(says(500, ""))
		kept.run() // both are put aside
		r.from(hang)
		for range 2 {
			<-r.arrived
		}
		w.must(p.Run(w.Context()))
		for range 2 {
			<-r.arrived
		}
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		w.must(p.Drain(ended))
		w.must(kept.Drain(ended))
		p.wants(nil)
		if is := p.is(); is.State != wire.ReceiverUp || is.InFlight != 0 {
			w.Errorf("it is %+v", is)
		}
		if left := w.claim(); len(left) != 2 || left[0].Lapses != 0 {
			w.Errorf("%d are left", len(left))
		}
		for _, id := range ids {
			found, err := w.gate.Intake(w.Context(), id)
			w.must(err)
			if !found.Lease.LeaseToken.IsZero() || found.Lease.Lapses != 0 {
				w.Errorf("it is %+v", found.Lease)
			}
		}
	})
}

// Neither the state of a receiver nor what is wrong with its settings contains a secret.
func TestNoSecrets(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(200, `{"outcome":"succeed","`+secret+`":"hunter2"}`))
		p := w.pusher(push.Work, r.values("lanes", lane))
		w.submit(1)
		if text := fmt.Sprintf("%+v", p.run()); strings.Contains(text, secret) || strings.Contains(text, "hunter2") || !strings.Contains(text, "no result") {
			w.Errorf("its text is %s", text)
		}
	})
}

// A delivery that began before another failed says nothing about how it goes now: its
// success does not end the wait that was asked for.
func TestEarlierSuccessDoesNotEndTheWait(t *testing.T) {
	everywhere(t, func(w *world) {
		let, turn := make(chan struct{}), atomic.Int64{}
		r := w.receiver(func(rw http.ResponseWriter, q *http.Request) {
			if turn.Add(1) == 1 {
				says(429, "", "Retry-After", "60")(rw, q)
				return
			}
			<-let
			says(204, "")(rw, q)
		})
		p := w.pusher(push.Work, r.values("lanes", lane, "concurrency", "2"))
		w.submit(3)
		w.must(p.Run(w.Context()))
		<-r.arrived
		<-r.arrived
		<-w.lines // that it fails
		close(let)
		p.Settle()
		if is := p.run(); is.State != wire.ReceiverBackingOff || !is.Until.Equal(w.clock().Add(time.Minute)) || is.Deliveries["succeed"] != 1 || len(r.keys()) != 2 {
			w.Errorf("it is %+v", is)
		}
	})
}

// faltering is a service whose store fails when a result is recorded.
type faltering struct {
	*deadletter.Service
	fails atomic.Int64
}

func (f *faltering) Results(ctx context.Context, c engine.Caller, results []recoup.WorkResult, receipts deadletter.Receipts) ([]deadletter.Done, error) {
	if f.fails.Add(-1) >= 0 {
		return nil, errors.New("the database is away")
	}
	return f.Service.Results(ctx, c, results, receipts)
}

// An answer that cannot be written down is asked for again when the lease is over,
// under the same key; what cannot be given back now is given back later.
func TestStoreFails(t *testing.T) {
	everywhere(t, func(w *world) {
		letters := &faltering{Service: w.letters}
		r := w.receiver(says(204, ""))
		p := w.pusherOn(letters, push.Work, r.values("lanes", lane))
		w.submit(1)
		letters.fails.Store(1)
		if is := p.run(); is.Deliveries["lost"] != 1 || is.State != wire.ReceiverUp {
			w.Errorf("it is %+v", is)
		}
		w.wait(45 * time.Second)
		p.run()
		p.wants(map[string]int64{"lost": 1, "succeed": 1})
		if keys := r.keys(); len(keys) != 2 || keys[0] != keys[1] {
			w.Errorf("the keys are %v", keys)
		}
		id := w.submit(1)[0]
		r.from(says(500, ""))
		letters.fails.Store(1)
		p.run()
		if left := w.claim(); len(left) != 0 {
			w.Error("it was given back although that failed")
		}
		w.wait(40 * time.Second)
		r.from(hang)
		p.Stop() // it delivers nothing more, and gives back what it has
		p.run()
		w.checkQueue("given back later", queued, id)
	})
}
