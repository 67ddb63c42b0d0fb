package bus_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// carried is a bus of one server, and a store.
func carried(t *testing.T) (*bustest.Cluster, *bus.Conn, *postgres.Store) {
	t.Helper()
	cluster, s := bustest.Start(t, 1), pgtest.Open(t)
	if err := s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()); err != nil {
		t.Fatal(err)
	}
	b := line(t, cluster)
	t.Cleanup(b.Close)
	return cluster, b, s
}

// shaky is a store of a node that fails for a while, before anything is committed.
type shaky struct {
	store.EventBatchWriter
	cause error
	left  atomic.Int64
	then  func()
}

func (f *shaky) WriteEventBatches(ctx context.Context, stream string, list []store.EventBatch) (int, error) {
	if f.left.Add(-1) >= 0 {
		f.then()
		return 0, f.cause
	}
	return f.EventBatchWriter.WriteEventBatches(ctx, stream, list)
}

func sampleBatch(n byte) *store.EventBatch {
	return &store.EventBatch{ID: recoup.ID{n}, Events: conformance.SampleEvents(3, conformance.Epoch(), time.Millisecond)}
}

// A node that dies before its commit has acknowledged nothing: another writes the batch.
func TestConsumerDiesBeforeCommit(t *testing.T) {
	t.Parallel()
	_, b, s := carried(t)
	if err := b.Publish(t.Context(), sampleBatch(1)); err != nil {
		t.Fatal(err)
	}
	ctx, die := context.WithCancel(t.Context())
	dead := &shaky{EventBatchWriter: s, cause: errDied, then: die}
	dead.left.Store(1000)
	_, over := consume(ctx, b, dead)
	<-over
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c, _ := consume(ctx, b, s)
	bustest.Eventually(t, "the batch at another node", func() bool { return c.Stats().Written == 3 })
}

// A batch that the store refuses four times is written with the fifth, and not put in
// quarantine; a message that cannot be read is, once it has come five times.
func TestConsumerTriesFiveTimes(t *testing.T) {
	t.Parallel()
	cluster, b, s := carried(t)
	if err := b.Publish(t.Context(), sampleBatch(1)); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.RequestWithContext(t.Context(), "recoup.events", []byte("no batch")); err != nil {
		t.Fatal(err)
	}
	f := &shaky{EventBatchWriter: s, cause: fmt.Errorf("%w: not yet", store.ErrRefused), then: func() {}}
	f.left.Store(4)
	ctx, stop := context.WithCancel(t.Context())
	c, done := consume(ctx, b, f)
	bustest.Eventually(t, "both", func() bool { got := c.Stats(); return got.Written == 3 && got.Quarantined == 1 })
	stop()
	<-done
	list, err := b.ListQuarantine(t.Context(), 0, 10)
	if err != nil || len(list) != 1 || list[0].Readable || c.Stats().Failures != 8 {
		t.Errorf("in quarantine are %+v, %v; %+v", list, err, c.Stats())
	}
	if gaps, err := bus.Gaps(t.Context(), s.SQL(), conformance.Epoch().AddDate(100, 0, 0), 10); len(gaps) > 0 || err != nil {
		t.Errorf("there are gaps: %v, %v", gaps, err)
	}
}

// deaf is a bus whose answers are lost.
type deaf struct {
	*bus.Conn
	sent atomic.Pointer[recoup.ID]
}

func (d *deaf) Publish(ctx context.Context, b *store.EventBatch) error {
	id := b.ID
	d.sent.Store(&id)
	return errors.Join(d.Conn.Publish(ctx, b), bus.ErrUnknown)
}

// What the bus has stored without saying so is written directly, under the same id: that
// id adds nothing any more.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	_, b, s := carried(t)
	d := &deaf{Conn: b}
	w, err := ledger.NewWriter(ledger.Options{
		Store: s, Tally: ledger.NewTally(), Now: time.Now, Random: func() float64 { return 0 }, WaitLimit: time.Minute,
		Transport: d, Batches: s, IDs: recoup.NewIDSource(rand.Reader),
	})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := w.Append(t.Context(), conformance.SampleEvents(3, conformance.Epoch(), time.Millisecond))
	if err == nil {
		err = receipt.Wait(t.Context())
	}
	if err := errors.Join(err, w.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := w.Stats(); got.Direct != 3 || got.Written != 3 {
		t.Errorf("got %+v", got)
	}
	again := store.EventBatch{ID: *d.sent.Load(), Events: conformance.SampleEvents(2, conformance.Epoch(), time.Millisecond)}
	if added, err := s.WriteEventBatches(t.Context(), "", []store.EventBatch{again}); added != 0 || err != nil {
		t.Errorf("the id of the batch has added %d events, %v", added, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c, _ := consume(ctx, b, s)
	bustest.Eventually(t, "the batch from the bus", func() bool { return c.Stats().Duplicates == 3 })
}
