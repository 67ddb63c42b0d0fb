package endtoend

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	hdr "github.com/recoup-dev/recoup/server/test/load"
)

// TestBusCarriesAnOutage: while the database is away, events are taken at the rate at
// which they come, and once it is back all of them are in the ledger, each once, and the
// gate answers meanwhile. RECOUP_OUTAGE says for how long it is away and
// RECOUP_OUTAGE_RATE how many events come a second; what was seen is printed.
func TestBusCarriesAnOutage(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("RECOUP_OUTAGE"), "5s"))
	if err != nil {
		t.Fatal(err)
	}
	rate, err := strconv.Atoi(cmp.Or(os.Getenv("RECOUP_OUTAGE_RATE"), "1000"))
	if err != nil {
		t.Fatal(err)
	}
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	owner, nodes := server.Migrated(t)
	cluster := bustest.Start(t, 3)
	bustest.Eventually(t, "the cluster", func() bool { return busReady(cluster) })
	s := &sender{site: newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes}), ids: recoup.NewIDSource(rand.Reader), now: time.Now}
	s.flags = []string{"--bus", cluster.URL()}
	s.start()
	bustest.Eventually(t, "the bus", func() bool { return s.sample("recoup_bus_up") == "1" })
	o := &outage{sender: s, rate: rate}

	o.during("before", min(length, 10*time.Second), nil)
	server.Abort()
	away := o.during("without the database", length, nil)
	if away.failed > 0 || away.sent == 0 {
		t.Errorf("without the database %d calls of %d were refused, the last with %s", away.failed, away.sent, away.cause)
	}
	waiting := len(s.acked)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	back := s.now()
	o.during("while it catches up", time.Hour, func() bool { return o.written() >= waiting })
	t.Logf("%d events had come when the database was back; all of them were in the ledger after %s", waiting, s.now().Sub(back).Round(time.Millisecond))
	o.during("after", min(length, 10*time.Second), nil)
	s.whole(owner)
}

// outage has events sent and the gate asked at a steady rate.
type outage struct {
	*sender
	rate int // events a second
}

// eventCall is how many events a call brings.
const eventCall = 100

// phase is what clients saw for a while. Times count from when a call was due.
type phase struct {
	mu               sync.Mutex
	events, gate     hdr.Histogram
	sent, failed     int
	cause            string
	asked, gateFails int
}

// during sends and asks until so much time is over, or something holds.
func (o *outage) during(name string, length time.Duration, over func() bool) *phase {
	o.Helper()
	p := &phase{}
	begun := o.now()
	ctx, cancel := context.WithDeadline(o.Context(), begun.Add(length))
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		o.every(ctx, time.Second*eventCall/time.Duration(o.rate), func(due time.Time) {
			got := o.send("outage", eventCall)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.events.Record(o.now().Sub(due))
			if p.sent++; got.status != http.StatusAccepted {
				p.failed, p.cause = p.failed+1, fmt.Sprint(got.status, " ", got.body)
			}
		})
	})
	all.Go(func() {
		o.every(ctx, 20*time.Millisecond, func(due time.Time) {
			got := o.ask(http.MethodGet, "/v1/promotion/E-1", "")
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.asked++; got.status != http.StatusOK {
				p.gateFails++
				return
			}
			p.gate.Record(o.now().Sub(due))
		})
	})
	if over != nil {
		for !over() && ctx.Err() == nil {
			_ = retry.Sleep(ctx, 100*time.Millisecond)
		}
		cancel()
	}
	all.Wait()
	seconds := o.now().Sub(begun).Seconds()
	o.Logf("%s (%.0f s): %d events, %.0f/s, p50 %s p99 %s worst %s, %d of %d calls refused; gate p50 %s p99 %s, %d of %d not answered", name, seconds,
		(p.sent-p.failed)*eventCall, float64((p.sent-p.failed)*eventCall)/seconds, p.events.Quantile(0.5), p.events.Quantile(0.99), p.events.Max(), p.failed, p.sent,
		p.gate.Quantile(0.5), p.gate.Quantile(0.99), p.gateFails, p.asked)
	return p
}

// every calls at a steady rate until it is over, each in its own time.
func (o *outage) every(ctx context.Context, interval time.Duration, call func(due time.Time)) {
	var all sync.WaitGroup
	defer all.Wait()
	for due := o.now(); ctx.Err() == nil; due = due.Add(interval) {
		if retry.Sleep(ctx, due.Sub(o.now())) == nil {
			all.Go(func() { call(due) })
		}
	}
}

// written is how many events the node has written from the bus.
func (o *outage) written() int {
	n, _ := strconv.ParseFloat(o.sample(`recoup_bus_events_total{way="written"}`), 64) // none while it says nothing
	return int(n)
}
