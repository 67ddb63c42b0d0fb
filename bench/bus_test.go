package bench

import (
	"crypto/rand"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"recoup"
	"recoup/internal/bus"
	"recoup/internal/bus/bustest"
	"recoup/internal/ledger"
	"recoup/internal/store"
	"recoup/internal/test/conformance"
)

// publishers is how many messages are on their way at once, by either.
const publishers = 16

// BenchmarkBus has four callers append 5,000 events each and wait until they are durable
// on three servers that sync always, each a process of this machine, and nobody writes them to the ledger meanwhile.
// Beside it, in turn: messages of the same size and number, published by the same library
// without Recoup (target: 0.8), and the same events by COPY into PostgreSQL without a bus.
func BenchmarkBus(b *testing.B) {
	cluster := bustest.Start(b, 3)
	line, err := bus.Open(b.Context(), bus.Options{URL: cluster.URL(), ConnectLimit: time.Minute, AckTimeout: 30 * time.Second})
	must(b, err)
	b.Cleanup(line.Close)
	pg, _ := openPostgres(b)
	must(b, pg.EnsureEventPartitions(b.Context(), conformance.Epoch(), 0))
	carried, direct := newLedger(b, pg, line), newLedger(b, pg, nil)
	bare := newBare(b, cluster.URL())
	append1 := func(w *ledger.Writer, rows [][]store.Event) turn {
		return just(func() {
			together(func(i int) {
				receipt, err := w.Append(b.Context(), rows[i])
				if err == nil {
					err = receipt.Wait(b.Context())
				}
				if err != nil {
					b.Error(err)
				}
			})
		})
	}
	b.Run("publish", func(b *testing.B) {
		c, message := contest{B: b}, make([]byte, 95_000)
		for b.Loop() {
			b.StopTimer()
			rows := samples()
			b.StartTimer()
			c.round(callers*eventBatch, append1(carried, rows), just(func() { bare.publish(b, callers*eventBatch/bus.MaxBatch, message) }))
			b.StopTimer()
			message = make([]byte, bare.empty(b))
			b.StartTimer()
		}
		c.report("events", "bare")
	})
	b.Run("copy", func(b *testing.B) {
		c := contest{B: b}
		for b.Loop() {
			b.StopTimer()
			rows, others := samples(), samples()
			b.StartTimer()
			c.round(callers*eventBatch, append1(carried, rows), append1(direct, others))
			b.StopTimer()
			bare.empty(b)
			b.StartTimer()
		}
		c.report("events", "copy")
	})
}

func samples() (rows [][]store.Event) {
	for range callers {
		rows = append(rows, conformance.SampleEvents(eventBatch, conformance.Epoch(), time.Millisecond))
	}
	return rows
}

func newLedger(b *testing.B, s conformance.Ledger, line *bus.Bus) *ledger.Writer {
	o := ledger.Options{Store: s, Tally: ledger.NewTally(), Now: time.Now, Random: func() float64 { return 0 }, WaitLimit: time.Minute}
	if line != nil {
		o.Bus, o.Batches, o.IDs, o.Publishers = line, s.(store.EventBatchWriter), recoup.NewIDSource(rand.Reader), publishers
	}
	w, err := ledger.NewWriter(o)
	must(b, err)
	b.Cleanup(func() { must(b, w.Close(b.Context())) })
	return w
}

// bareBus publishes without Recoup, to a stream like Recoup's.
type bareBus struct{ js jetstream.JetStream }

func newBare(b *testing.B, url string) bareBus {
	conn, err := nats.Connect(url)
	must(b, err)
	b.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(b, err)
	_, err = js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "BARE", Subjects: []string{"bare"}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, MaxBytes: 8 << 30, Storage: jetstream.FileStorage, Replicas: 3})
	must(b, err)
	return bareBus{js}
}

func (n bareBus) publish(b *testing.B, messages int, data []byte) {
	work := make(chan int)
	go func() {
		defer close(work)
		for i := range messages {
			work <- i
		}
	}()
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	crowd(publishers, func(int) {
		for i := range work {
			if _, err := n.js.Publish(b.Context(), "bare", data, jetstream.WithMsgID(run+strconv.Itoa(i))); err != nil {
				b.Error(err)
			}
		}
	})
}

// empty empties the streams, and returns the size of a message of Recoup's.
func (n bareBus) empty(b *testing.B) int {
	size := uint64(0)
	for _, name := range []string{"BARE", bus.Stream} {
		stream, err := n.js.Stream(b.Context(), name)
		must(b, err)
		if state := stream.CachedInfo().State; state.Msgs > 0 {
			size = state.Bytes / state.Msgs
		}
		must(b, stream.Purge(b.Context()))
	}
	return int(size)
}
