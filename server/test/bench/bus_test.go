package bench

import (
	"crypto/rand"
	"strconv"
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

// publishers is how many messages are on their way at once, by either.
const publishers = 16

// A round has every caller append rallies batches, of which ahead are on their way at once:
// enough for all publishers to have something to do.
const (
	rallies = 10
	ahead   = 2
)

// BenchmarkBus has four callers append 5,000 events ten times each and wait until they are durable
// on three servers that sync always, each a process of this machine, and nobody writes them to the ledger meanwhile.
// Beside it, in turn: the bytes of one of these messages, as often, as many at once, with the same headers, to a stream
// of the same settings, published by the same library without Recoup (target: 0.8); and the same events by COPY into
// PostgreSQL without a bus.
func BenchmarkBus(b *testing.B) {
	cluster := bustest.Start(b, 3)
	line, err := bus.Open(b.Context(), bus.Options{URL: cluster.URL(), ConnectLimit: time.Minute, AckTimeout: 30 * time.Second})
	must(b, err)
	b.Cleanup(line.Close)
	pg, _ := openPostgres(b)
	must(b, pg.EnsureEventPartitions(b.Context(), conformance.Epoch(), 0))
	carried, direct := newLedger(b, pg, line), newLedger(b, pg, nil)
	bare := newBare(b, cluster.URL())
	b.Run("publish", func(b *testing.B) {
		c, rows := contest{B: b}, samples() // a batch has an id of its own each time
		appendAll(b, carried, rows, 1)
		message := bare.sample(b)
		bare.empty(b)
		for b.Loop() {
			c.round(rallies*callers*eventBatch,
				just(func() { appendAll(b, carried, rows, rallies) }),
				just(func() { bare.publish(b, rallies*callers*eventBatch/bus.MaxBatch, message) }))
			b.StopTimer()
			bare.empty(b)
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
			c.round(callers*eventBatch, just(func() { appendAll(b, carried, rows, 1) }), just(func() { appendAll(b, direct, others, 1) }))
			b.StopTimer()
			bare.empty(b)
			b.StartTimer()
		}
		c.report("events", "copy")
	})
}

// appendAll has every caller append its rows so many times, and returns when all is durable.
func appendAll(b *testing.B, w *ledger.Writer, rows [][]store.Event, times int) {
	together(func(i int) {
		var waiting []*ledger.Receipt
		wait := func() {
			if err := waiting[0].Wait(b.Context()); err != nil {
				b.Error(err)
			}
			waiting = waiting[1:]
		}
		for range times {
			receipt, err := w.Append(b.Context(), rows[i])
			if err != nil {
				b.Error(err)
				return
			}
			if waiting = append(waiting, receipt); len(waiting) == ahead {
				wait()
			}
		}
		for len(waiting) > 0 {
			wait()
		}
	})
}

func samples() (rows [][]store.Event) {
	for range callers {
		rows = append(rows, conformance.SampleEvents(eventBatch, conformance.Epoch(), time.Millisecond))
	}
	return rows
}

func newLedger(b *testing.B, s conformance.Ledger, line *bus.Conn) *ledger.Writer {
	o := ledger.Options{Store: s, Tally: ledger.NewTally(), Now: time.Now, Random: func() float64 { return 0 }, WaitLimit: time.Minute}
	if line != nil {
		o.Transport, o.Batches, o.IDs, o.Publishers = line, s.(store.EventBatchWriter), recoup.NewIDSource(rand.Reader), publishers
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
	ours, err := js.Stream(b.Context(), bus.Stream)
	must(b, err)
	like := ours.CachedInfo().Config
	like.Name, like.Subjects = "BARE", []string{"bare"}
	_, err = js.CreateStream(b.Context(), like)
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
			if _, err := n.js.Publish(b.Context(), "bare", data, jetstream.WithMsgID(run+strconv.Itoa(i)), jetstream.WithExpectStream("BARE")); err != nil {
				b.Error(err)
			}
		}
	})
}

// sample returns the bytes of a message that Recoup has published.
func (n bareBus) sample(b *testing.B) []byte {
	stream, err := n.js.Stream(b.Context(), bus.Stream)
	must(b, err)
	msg, err := stream.GetMsg(b.Context(), stream.CachedInfo().State.LastSeq)
	must(b, err)
	return msg.Data
}

// empty empties the streams.
func (n bareBus) empty(b *testing.B) {
	for _, name := range []string{"BARE", bus.Stream} {
		stream, err := n.js.Stream(b.Context(), name)
		must(b, err)
		must(b, stream.Purge(b.Context()))
	}
}
