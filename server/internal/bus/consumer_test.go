package bus_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// line opens a bus of one server, as a node has it.
func line(t *testing.T, c *bustest.Cluster) *bus.Conn {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{URL: c.URL(), Single: true, AckWait: time.Second, AckTimeout: 2 * time.Second, ProbeEvery: 50 * time.Millisecond, ConnectLimit: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dying is a store of a node that dies after its commit: nothing of what it is told is
// acknowledged.
type dying struct {
	store.EventBatchWriter
	die   context.CancelFunc
	wrote atomic.Int64
}

var errDied = errors.New("the node is dead")

func (d *dying) WriteEventBatches(ctx context.Context, stream string, list []store.EventBatch) (int, error) {
	n, err := d.EventBatchWriter.WriteEventBatches(ctx, stream, list)
	if err != nil {
		return n, err
	}
	d.wrote.Add(int64(n))
	d.die()
	return 0, errDied
}

func consume(ctx context.Context, b *bus.Conn, s store.EventBatchWriter) (*bus.Consumer, <-chan struct{}) {
	c := &bus.Consumer{Bus: b, Store: s, Now: time.Now, Random: func() float64 { return 0 }, Logger: slog.New(slog.DiscardHandler),
		Inspect: func(time.Time, []store.Event) error { return nil }}
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	return c, done
}

// A node that dies between the commit and the acknowledgement leaves batches to another,
// which finds them written.
func TestConsumerDiesBeforeAck(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	s := pgtest.Open(t)
	if err := s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()); err != nil {
		t.Fatal(err)
	}
	first, second := line(t, cluster), line(t, cluster)
	defer second.Close()
	ids := recoup.NewIDSource(rand.Reader)
	const batches, size = 12, 40
	for range batches {
		batch := store.EventBatch{ID: ids.New(conformance.Epoch()), Events: conformance.SampleEvents(size, conformance.Epoch(), time.Millisecond)}
		if err := first.Publish(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	ctx, die := context.WithCancel(t.Context())
	dead := &dying{EventBatchWriter: s, die: die}
	_, over := consume(ctx, first, dead)
	<-over
	first.Close()
	if dead.wrote.Load() == 0 {
		t.Fatal("it died too early")
	}
	ctx, stop := context.WithCancel(t.Context())
	c, done := consume(ctx, second, s)
	bustest.Eventually(t, "an empty bus", func() bool {
		status, err := second.Status(t.Context())
		return err == nil && status.Stream.Waiting == 0
	})
	stop()
	<-done
	got := c.Stats()
	if got.Written+dead.wrote.Load() != batches*size || got.Duplicates != dead.wrote.Load() {
		t.Errorf("the dead node wrote %d, the other %+v", dead.wrote.Load(), got)
	}
	if gaps, err := bus.Gaps(t.Context(), s.SQL(), conformance.Epoch().AddDate(100, 0, 0), 10); len(gaps) > 0 || err != nil {
		t.Errorf("there are gaps: %v, %v", gaps, err)
	}
}

// A writer whose bus goes away writes to the store, and publishes again once it is back.
// What it accepted is written once.
func TestWriterWithoutItsBus(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	s := pgtest.Open(t)
	if err := s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()); err != nil {
		t.Fatal(err)
	}
	b := line(t, cluster)
	defer b.Close()
	w, err := ledger.NewWriter(ledger.Options{
		Store: s, Tally: ledger.NewTally(), Now: time.Now, Random: func() float64 { return 0 }, WaitLimit: time.Minute,
		Transport: b, Batches: s, IDs: recoup.NewIDSource(rand.Reader),
	})
	if err != nil {
		t.Fatal(err)
	}
	add := func(n int) {
		t.Helper()
		receipt, err := w.Append(t.Context(), conformance.SampleEvents(n, conformance.Epoch(), time.Millisecond))
		if err == nil {
			err = receipt.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add(1200)
	cluster.Kill()
	add(1100)
	cluster.Restart()
	bustest.Eventually(t, "the bus", b.Up)
	add(700)
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := w.Stats(); got.Published != 1900 || got.Direct != 1100 || got.Held != 0 || got.Accepted != got.Published+got.Written+got.Duplicates {
		t.Errorf("got %+v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	c, done := consume(ctx, b, s)
	bustest.Eventually(t, "all events", func() bool { return c.Stats().Written+c.Stats().Duplicates == 1900 })
	stop()
	<-done
	if got := c.Stats(); got.Written+w.Stats().Written != 3000 {
		t.Errorf("written are %d from the bus and %d past it", got.Written, w.Stats().Written)
	}
}

// newGovernor returns a governor that knows no tenants.
func newGovernor(t *testing.T) *ledger.Governor {
	t.Helper()
	g, err := ledger.NewGovernor(ledger.GovernorOptions{
		Registry: fault.Default(), Providers: fault.DefaultProviders(), Tenants: &ledger.Tenants{}, IDs: recoup.NewIDSource(rand.Reader),
		Rules: ledger.Rules{Retention: 90 * 24 * time.Hour, Details: redact.EventDetails()}, Tally: ledger.NewTally(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A batch that no node has governed goes to quarantine at once, whole, and what is in it is
// not said; others are written.
func TestConsumerInspects(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	s := pgtest.Open(t)
	if err := s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()); err != nil {
		t.Fatal(err)
	}
	b := line(t, cluster)
	defer b.Close()
	g := newGovernor(t)
	for i, tenant := range []string{"", "acme", ""} {
		events := conformance.SampleEvents(3, conformance.Epoch(), time.Millisecond)
		events[1].TenantHash, events[1].TenantKey = tenant, tenant
		if err := b.Publish(t.Context(), &store.EventBatch{ID: recoup.ID{byte(i + 1)}, Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	inspect := func(stored time.Time, events []store.Event) error {
		if !stored.After(conformance.Epoch()) {
			t.Errorf("the bus stored it at %v", stored)
		}
		return g.Inspect(conformance.Epoch(), events)
	}
	c := &bus.Consumer{Bus: b, Store: s, Now: conformance.Epoch, Random: func() float64 { return 0 }, Logger: slog.New(slog.DiscardHandler), Inspect: inspect}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	bustest.Eventually(t, "all batches", func() bool { got := c.Stats(); return got.Quarantined == 1 && got.Written == 6 })
	stop()
	<-done
	list, err := b.ListQuarantine(t.Context(), 0, 10)
	if err != nil || len(list) != 1 || list[0].Reason != "event 2 of 3 was not governed: tenant_hash: format" || c.Stats().Failures != 4 {
		t.Errorf("in quarantine are %+v, %v; %+v", list, err, c.Stats())
	}
	if gaps, err := bus.Gaps(t.Context(), s.SQL(), conformance.Epoch().AddDate(100, 0, 0), 10); len(gaps) > 0 || err != nil {
		t.Errorf("there are gaps: %v, %v", gaps, err)
	}
}
