package bus_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestMain(m *testing.M) {
	if !bustest.Serve() {
		m.Run()
	}
}

func open(t *testing.T, o bus.Options) *bus.Conn {
	t.Helper()
	if o.ConnectLimit == 0 {
		o.ConnectLimit = 20 * time.Second
	}
	b, err := bus.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// events are what every batch of these tests has.
var events = sync.OnceValue(func() []store.Event { return conformance.SampleEvents(3, conformance.Epoch(), time.Millisecond) })

func batch(n byte) *store.EventBatch { return &store.EventBatch{ID: recoup.ID{n}, Events: events()} }

// fetch waits for so many messages.
func fetch(t *testing.T, b *bus.Conn, n int) (list []*bus.Delivery) {
	t.Helper()
	bustest.Eventually(t, "messages", func() bool {
		more, err := b.Fetch(t.Context(), n-len(list))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
		return len(list) >= n
	})
	return list
}

// What is acknowledged by a cluster outlives the death of a server, in the long run of one
// after another, and of all at once; a batch that is published twice is one message.
func TestClusterKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 3)
	b := open(t, bus.Options{URL: cluster.URL(), AckTimeout: 2 * time.Second, AckWait: time.Second, ProbeEvery: 50 * time.Millisecond})
	publish := func(n byte) {
		t.Helper()
		bustest.Eventually(t, "the bus", func() bool { return b.Publish(t.Context(), batch(n)) == nil })
	}
	n := byte(0)
	killed := cluster.Servers[:1]
	if os.Getenv("RECOUP_SOAK") != "" {
		killed = cluster.Servers
	}
	for _, s := range killed {
		n++
		publish(n)
		s.Kill()
		publish(n) // by another leader, perhaps: it is known
		n++
		publish(n)
		s.Start()
	}
	cluster.Kill()
	if err := b.Publish(t.Context(), batch(100)); !errors.Is(err, bus.ErrAway) && !errors.Is(err, bus.ErrUnknown) {
		t.Errorf("without servers: %v", err)
	}
	if b.Up() {
		t.Error("the bus is up without servers")
	}
	cluster.Restart()
	bustest.Eventually(t, "the bus", b.Up)
	seen := map[recoup.ID]int64{}
	for _, d := range fetch(t, b, int(n)) {
		if d.Err != nil || !reflect.DeepEqual(d.Batch.Events, batch(1).Events) {
			t.Errorf("got %+v, %v", d.Batch, d.Err)
		}
		seen[d.Batch.ID] = d.Batch.Sequence
		if err := d.Ack(); err != nil {
			t.Error(err)
		}
	}
	for i := range n {
		if seen[recoup.ID{i + 1}] != int64(i+1) {
			t.Errorf("batch %d has the sequence %d", i+1, seen[recoup.ID{i + 1}])
		}
	}
}

// What is not acknowledged is delivered again, also to another node, and what is
// acknowledged is gone.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	o := bus.Options{URL: cluster.URL(), Single: true, AckWait: 500 * time.Millisecond}
	one, other := open(t, o), open(t, o)
	for n := range byte(3) {
		if err := one.Publish(t.Context(), batch(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range fetch(t, one, 3) {
		if d.Batch.Sequence == 2 {
			continue
		}
		if err := d.Ack(); err != nil {
			t.Error(err)
		}
	}
	again := fetch(t, other, 1)[0]
	if again.Batch.Sequence != 2 || again.Delivered != 2 || again.Stream != other.Generation() {
		t.Errorf("again came %+v", again)
	}
	if err := again.Ack(); err != nil {
		t.Error(err)
	}
	bustest.Eventually(t, "an empty stream", func() bool {
		s, err := one.Status(t.Context())
		return err == nil && s.Stream.Waiting == 0 && s.Stream.Bytes == 0 && s.Stream.Last == 3
	})
}

// A stream that is full refuses, and nothing that it refuses is stored.
func TestFullStream(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	b := open(t, bus.Options{URL: cluster.URL(), Single: true, MaxBytes: 2 << 10})
	stored := int64(0)
	for {
		err := b.Publish(t.Context(), batch(byte(stored+1)))
		if errors.Is(err, ledger.ErrTransportFull) {
			break
		}
		if err != nil || stored > 100 {
			t.Fatal(stored, err)
		}
		stored++
	}
	if !b.Up() || stored == 0 {
		t.Errorf("after %d batches the bus is up: %v", stored, b.Up())
	}
	s, err := b.Status(t.Context())
	if err != nil || s.Stream.Waiting != stored || s.Stream.MaxBytes != 2<<10 {
		t.Errorf("the stream is %+v, %v; %d were stored", s.Stream, err, stored)
	}
	for _, d := range fetch(t, b, int(stored)) {
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	bustest.Eventually(t, "room", func() bool { return b.Publish(t.Context(), batch(200)) == nil })
}

// Servers and streams that could lose events are refused at the start; servers that do
// not answer are not.
func TestUnfit(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	if _, err := bus.Open(t.Context(), bus.Options{URL: cluster.URL(), ConnectLimit: time.Minute}); !errors.Is(err, bus.ErrUnfit) {
		t.Errorf("one server: %v", err)
	}
	conn, err := nats.Connect(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.Stream, Subjects: []string{"recoup.events"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Open(t.Context(), bus.Options{URL: cluster.URL(), Single: true, ConnectLimit: time.Minute}); !errors.Is(err, bus.ErrUnfit) {
		t.Errorf("a stream that discards the oldest: %v", err)
	}
	away := open(t, bus.Options{URL: "nats://127.0.0.1:1", ConnectLimit: 50 * time.Millisecond})
	if err := away.Publish(t.Context(), batch(1)); away.Up() || !errors.Is(err, bus.ErrAway) {
		t.Errorf("nobody there: %v", err)
	}
}

// A batch in quarantine is listed, and goes when it is released.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	cluster := bustest.Start(t, 1)
	b := open(t, bus.Options{URL: cluster.URL(), Single: true})
	ctx := t.Context()
	for n := range byte(3) {
		if err := b.Publish(ctx, batch(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range fetch(t, b, 3) {
		for range 2 { // somebody died in between
			if err := b.Quarantine(ctx, d, "the code is not registered", conformance.Epoch()); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := b.ListQuarantine(ctx, 1, 5)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	got := list[0]
	want := bus.QuarantinedBatch{Number: 2, BatchID: recoup.ID{2}, Stream: b.Generation(), Sequence: 2, Events: 3, Bytes: got.Bytes, Readable: true,
		Reason: "the code is not registered", At: conformance.Epoch()}
	if got.QuarantinedBatch != want || !reflect.DeepEqual(got.Batch.Events, batch(2).Events) {
		t.Errorf("got %+v", got)
	}
	if err := b.Release(ctx, 2); err != nil {
		t.Fatal(err)
	}
	_, missing := b.FindQuarantined(ctx, 2)
	if again := b.Release(ctx, 2); !errors.Is(missing, bus.ErrNotFound) || !errors.Is(again, bus.ErrNotFound) {
		t.Errorf("gone: %v, %v", missing, again)
	}
	if s, err := b.Status(ctx); err != nil || s.Quarantined != 2 {
		t.Errorf("the status is %+v, %v", s, err)
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"2.10.22": true, "2.10.23": false, "2.9.99": true, "2.11.0-RC.1": false, "v3.0.0": false, "": true} {
		if bus.Older(version, bus.MinVersion) != want {
			t.Errorf("%q", version)
		}
	}
}

// Monitoring says whether servers sync always. Nobody is asked whom it names, and no
// password is told.
func TestServers(t *testing.T) {
	t.Parallel()
	for setting, always := range map[string]bool{"sync_interval: always": true, "sync_interval: 1m": false} {
		cluster := bustest.StartWith(t, 1, setting)
		elsewhere := httptest.NewServer(http.RedirectHandler(cluster.Monitors()[0]+"/varz", http.StatusFound))
		endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, err := io.WriteString(w, `{"server_name":"`); err == nil; _, err = io.WriteString(w, strings.Repeat("x", 1<<16)) {
			}
		}))
		t.Cleanup(elsewhere.Close)
		t.Cleanup(endless.Close)
		secret := strings.Replace(elsewhere.URL, "http://", "http://ada:hunter2@", 1)
		b := open(t, bus.Options{URL: cluster.URL(), Single: true, Monitors: append(cluster.Monitors(), "http://ada:hunter2@127.0.0.1:1", secret, endless.URL)})
		list := b.Servers(context.Background())
		if len(list) != 4 || list[0].SyncAlways != always || list[0].Err != nil || bus.Older(list[0].Version, bus.MinVersion) {
			t.Fatalf("%s: %+v", setting, list)
		}
		for _, s := range list[1:] {
			if s.Err == nil || strings.Contains(s.Monitor+s.Err.Error(), "hunter2") || len(s.Err.Error()) > 200 {
				t.Errorf("%s: %v", s.Monitor, s.Err)
			}
		}
	}
}
