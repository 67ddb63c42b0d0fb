package client_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// start begins an emitter; the test closes it.
func start(t testing.TB, o client.EmitterOptions) *client.Emitter {
	t.Helper()
	m, err := client.NewEmitter(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func emit(m *client.Emitter, n int) {
	for range n {
		m.Emit(recoup.Event{Code: "TIMEOUT"})
	}
}

// shut closes an emitter for good, within a second.
func shut(t testing.TB, m *client.Emitter) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return m.Close(ctx)
}

func TestEmitterOptionsAreChecked(t *testing.T) {
	t.Parallel()
	c, nameless := connect(t, client.Options{Server: "http://s", Service: "s"}), connect(t, client.Options{Server: "http://s"})
	for name, o := range map[string]client.EmitterOptions{
		"no client": {}, "no service": {Client: nameless}, "no buffer": {Client: c, Buffer: -1},
		"batch too large": {Client: c, Batch: 10001}, "a file for a folder": {Client: c, Spool: "/dev/null"},
	} {
		if _, err := client.NewEmitter(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Events go out when a batch is full, or when the first has waited long enough,
// with all that makes them durable and the same again.
func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Batch: 10})
		began := time.Now()
		emit(m, 10)
		synctest.Wait()
		emit(m, 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []struct {
			after time.Duration
			n     int
		}{{0, 10}, {time.Second, 3}}
		for i, b := range l.requests {
			if b.at.Sub(began) != want[i].after || len(b.events) != want[i].n {
				t.Errorf("request %d: %d events after %v", i, len(b.events), b.at.Sub(began))
			}
			if b.header.Get("Prefer") != "respond-sync" || b.header.Get("Content-Type") != "application/x-ndjson" || b.header.Get("X-Recoup-Dropped") != "" {
				t.Errorf("request %d has %v", i, b.header)
			}
		}
		e := l.requests[0].events[0]
		if e.ID.IsZero() || !e.TS.Equal(began) || e.Service != "renderdb" || e.Region != "eu-1" || e.Code != "TIMEOUT" {
			t.Errorf("sent %+v", e)
		}
		if err := shut(t, m); err != nil || len(l.requests) != 2 || len(l.events) != 13 {
			t.Errorf("%v; %d events in %d requests", err, len(l.events), len(l.requests))
		}
	})
}

// What there is no room for is dropped, and what comes next is not.
func TestFullBuffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Buffer: 10})
		emit(m, 15)
		if s := m.Stats(); s.Dropped != 5 || s.Waiting != 10 {
			t.Errorf("stats are %+v", s)
		}
		time.Sleep(2 * time.Second)
		emit(m, 10)
		if err := shut(t, m); err != nil || len(l.events) != 20 || m.Stats().Dropped != 5 || l.requests[0].header.Get("X-Recoup-Dropped") != "5" {
			t.Errorf("%v: %d events, stats are %+v", err, len(l.events), m.Stats())
		}
	})
}

// What an event says of itself stands.
func TestOwnWordsStand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		own := recoup.Event{
			ID: id(1), Code: "TIMEOUT", CorrelationID: id(2), Service: "s", Endpoint: "<e>", HTTPStatus: 504, Tenant: "t",
			Details: map[string]any{"retryable": true}, Region: "r", ExternalService: "x", TS: noon,
		}
		m.Emit(own)
		if err := shut(t, m); err != nil || !reflect.DeepEqual(l.events[id(1)], own) {
			t.Errorf("%v: got %+v", err, l.events)
		}
	})
}

// While the server is away nothing is lost that there is room for. The request is
// repeated as it was, later and later; what is dropped meanwhile is reported.
func TestServerAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeDatabaseConnectionError, "away"), from(6))
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Buffer: 20, Batch: 10})
		emit(m, 10)
		synctest.Wait() // they are on their way
		emit(m, 25)     // 20 wait in memory, 10 of them in the backlog after a second
		time.Sleep(10 * time.Second)
		emit(m, 30)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := m.Stats(); s.Emitted != 65 || s.Dropped+s.Delivered != 65 || s.Failures != 6 || s.Waiting != 0 {
			t.Errorf("stats are %+v", s)
		}
		var dropped int
		for i, b := range l.requests {
			n := 0
			_, _ = fmt.Sscan(b.header.Get("X-Recoup-Dropped"), &n)
			if i >= 6 {
				dropped += n
			}
			if i == 0 || i > 6 {
				continue
			}
			first := l.requests[0]
			if !reflect.DeepEqual(b.events, first.events) || b.header.Get("Idempotency-Key") != first.header.Get("Idempotency-Key") {
				t.Errorf("request %d is another one", i)
			}
			least := time.Second << (i - 1)
			if wait := b.at.Sub(l.requests[i-1].at); wait < least || wait > least*11/10 {
				t.Errorf("request %d came after %v, want %v", i, wait, least)
			}
		}
		if s := m.Stats(); int64(dropped) != s.Dropped || s.Dropped == 0 || int64(len(l.events)) != s.Delivered {
			t.Errorf("handed %d drops of %d, %d events of %d", dropped, s.Dropped, len(l.events), s.Delivered)
		}
		if err := shut(t, m); err != nil {
			t.Error(err)
		}
	})
}

// A lost answer makes no event twice: ids are made once.
func TestLostAnswersOfEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
			if n < 2 {
				l.keep(l.requests[n])
				panic(http.ErrAbortHandler)
			}
			return false
		}
		m := start(t, client.EmitterOptions{Client: bubble(t, l), Batch: 10})
		emit(m, 10)
		time.Sleep(time.Minute)
		if err := shut(t, m); err != nil || len(l.events) != 10 || len(l.requests) != 3 {
			t.Errorf("%v: %d events in %d requests", err, len(l.events), len(l.requests))
		}
	})
}

// A server that asks for time gets it, even if somebody waits.
func TestRetryAfterOfEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeRateLimitExceeded, "").After(40*time.Second), from(1))
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		emit(m, 1)
		began := time.Now()
		var wg sync.WaitGroup
		for range 2 { // the second comes during the pause
			wg.Go(func() {
				if err := m.Flush(t.Context()); err != nil || time.Since(began) != 40*time.Second {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if err := shut(t, m); err != nil || len(l.requests) != 2 {
			t.Errorf("%v after %d requests", err, len(l.requests))
		}
	})
}

// Flush delivers at once, also out of the middle of a pause, and says what it
// could not deliver.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), from(3))
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		if err := m.Flush(t.Context()); err != nil { // there is nothing
			t.Error(err)
		}
		began := time.Now()
		emit(m, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var undelivered *client.UndeliveredError
		err := m.Flush(ctx)
		if !errors.As(err, &undelivered) || undelivered.Events != 2 || undelivered.Spooled ||
			!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fault.New(fault.CodeTemporaryUnavailable, "")) {
			t.Errorf("got %v", err)
		}
		emit(m, 1)
		for range 3 { // each tries once more
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			err = m.Flush(ctx)
			cancel()
		}
		if err != nil || len(l.events) != 3 || time.Since(began) > time.Second {
			t.Errorf("%v: %d events after %v", err, len(l.events), time.Since(began))
		}
		if err := shut(t, m); err != nil {
			t.Error(err)
		}
	})
}

// A key that the server does not take is not mended by waiting: Flush says so at
// once, and the events wait on.
func TestFlushWithAWrongKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeInvalidAPIKey, ""), from(2))
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		emit(m, 2)
		began := time.Now()
		for range 2 {
			if err := m.Flush(t.Context()); !errors.Is(err, fault.New(fault.CodeInvalidAPIKey, "")) || time.Since(began) != 0 {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(l.events) != 2 || l.requests[2].at.Sub(began) != time.Minute {
			t.Errorf("%d events arrived in the end, by %d requests", len(l.events), len(l.requests))
		}
		if err := shut(t, m); err != nil {
			t.Error(err)
		}
	})
}

// Close gives up in time, returns what is lost, and is final.
func TestCloseWithoutServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), always)
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		emit(m, 2)
		var undelivered *client.UndeliveredError
		if err := shut(t, m); !errors.As(err, &undelivered) || undelivered.Events != 2 {
			t.Errorf("got %v", err)
		}
		emit(m, 1)
		if s := m.Stats(); s.Dropped != 1 || s.Emitted != 3 {
			t.Errorf("stats are %+v", s)
		}
		if err := shut(t, m); err != nil {
			t.Errorf("closed again: %v", err)
		}
	}) // and no goroutine is left in the bubble
}

// A Flush that waits for a delivery that Close has given up returns at once.
func TestFlushAndClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.fail = down(fault.New(fault.CodeTemporaryUnavailable, ""), always)
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		emit(m, 2)
		flushed := make(chan error)
		go func() { flushed <- m.Flush(t.Context()) }()
		synctest.Wait()
		if err := shut(t, m); err == nil {
			t.Error("closed without a word")
		}
		var undelivered *client.UndeliveredError
		for _, err := range []error{<-flushed, m.Flush(t.Context())} {
			if !errors.As(err, &undelivered) || undelivered.Events != 2 {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A request that hangs is broken off.
func TestCloseDuringARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := start(t, client.EmitterOptions{Client: bubble(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}))})
		emit(m, 1)
		began := time.Now()
		if err := shut(t, m); err == nil || time.Since(began) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// What a server will never take does not hold up the rest.
func TestPoison(t *testing.T) {
	t.Parallel()
	tooLarge := fault.New(fault.CodePayloadTooLarge, "")
	for name, row := range map[string]struct {
		fail      func(l *ledger) func(int, http.ResponseWriter, *http.Request) bool
		delivered int
	}{
		"a line that it names": {func(*ledger) func(int, http.ResponseWriter, *http.Request) bool {
			return down(fault.New(fault.CodeMalformedJSON, "").With("line", 3), from(1))
		}, 6},
		"the first line": {func(*ledger) func(int, http.ResponseWriter, *http.Request) bool {
			return down(fault.New(fault.CodeMalformedJSON, "").With("line", 1), from(1))
		}, 6},
		"a line that there is not": {func(*ledger) func(int, http.ResponseWriter, *http.Request) bool {
			return down(fault.New(fault.CodeMalformedJSON, "").With("line", 8), from(1))
		}, 0},
		"the whole": {func(*ledger) func(int, http.ResponseWriter, *http.Request) bool {
			return down(fault.New(fault.CodeUnsupportedContentType, ""), from(1))
		}, 0},
		"too much of it": {func(l *ledger) func(int, http.ResponseWriter, *http.Request) bool {
			return down(tooLarge, func(n int) bool { return len(l.requests[n].events) <= 2 })
		}, 7},
		"too large by itself": {func(l *ledger) func(int, http.ResponseWriter, *http.Request) bool {
			return down(tooLarge, func(n int) bool {
				return len(l.requests[n].events) == 1 && l.requests[n].events[0].Service != "s3"
			})
		}, 6},
	} {
		for _, spool := range []string{"", t.TempDir()} {
			synctest.Test(t, func(t *testing.T) {
				l := newLedger()
				l.fail = row.fail(l)
				m := start(t, client.EmitterOptions{Client: bubble(t, l), Spool: spool})
				for i := range 7 {
					m.Emit(recoup.Event{Code: "TIMEOUT", Service: fmt.Sprint("s", i)})
				}
				if err := shut(t, m); err != nil || len(l.events) != row.delivered {
					t.Errorf("%s: %v: %d events arrived", name, err, len(l.events))
				}
				if s := m.Stats(); s.Dropped != int64(7-row.delivered) || s.Delivered != int64(row.delivered) || s.Waiting != 0 {
					t.Errorf("%s: stats are %+v", name, s)
				}
			})
		}
	}
}

// What cannot be written or read is dropped before it is sent, and reported.
func TestUnencodable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		m.Emit(recoup.Event{Code: "TIMEOUT", Details: map[string]any{"limit": math.NaN()}})
		m.Emit(recoup.Event{Code: "TIMEOUT", Endpoint: strings.Repeat("x", 20000)})
		emit(m, 1)
		if err := shut(t, m); err != nil || len(l.events) != 1 || l.requests[0].header.Get("X-Recoup-Dropped") != "2" {
			t.Errorf("%v: %d events, %v", err, len(l.events), l.requests)
		}
	})
}

// What the server refuses of a batch is counted and not sent again.
func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := start(t, client.EmitterOptions{Client: bubble(t, reply(`{"accepted":3,"durable":true,"refused_count":2}`))})
		emit(m, 5)
		if err := shut(t, m); err != nil {
			t.Error(err)
		}
		if s := m.Stats(); s.Delivered != 3 || s.Refused != 2 || s.Dropped != 0 {
			t.Errorf("stats are %+v", s)
		}
	})
}

// Many producers at once: whatever was emitted was delivered or is counted as
// dropped.
func TestManyProducers(t *testing.T) {
	t.Parallel()
	l := newLedger()
	s := serve(t, l.ServeHTTP)
	m := start(t, client.EmitterOptions{Client: s.client(t), Buffer: 512, Batch: 100, Spool: t.TempDir(), SpoolBytes: 100 << 10})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				emit(m, 1)
			}
			if err := m.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stats := m.Stats()
	if stats.Emitted != 4000 || stats.Delivered+stats.Dropped != 4000 || int64(len(l.events)) != stats.Delivered || stats.Delivered == 0 {
		t.Errorf("%d events arrived, stats are %+v", len(l.events), stats)
	}
}
