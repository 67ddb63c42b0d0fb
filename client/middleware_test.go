package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// eventServer is a server for events and counts.
type eventServer struct {
	*ledger
	mu     sync.Mutex
	counts [][]recoup.Processed
	refuse func(n int) *fault.Error // the n-th request for counts, from 0
	n      int
}

func newEventServer() *eventServer {
	return &eventServer{ledger: newLedger(), refuse: func(int) *fault.Error { return nil }}
}

func (d *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/processed" {
		d.ledger.ServeHTTP(w, r)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if err := d.refuse(d.n - 1); err != nil {
		fault.Write(w, r, err)
		return
	}
	var batch recoup.ProcessedBatch
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		panic(err)
	}
	slices.SortFunc(batch.Counts, func(a, b recoup.Processed) int { return a.Minute.Compare(b.Minute) })
	d.counts = append(d.counts, batch.Counts)
	_, _ = w.Write([]byte(`{"accepted":1}`))
}

// A service behind the middleware emits its failures and counts its requests.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newEventServer()
		m := start(t, client.EmitterOptions{Client: bubble(t, d)})
		var emitted, counted int
		wrap, err := m.Middleware(fault.Options{
			Emit: func(recoup.Event) { emitted++ }, Count: func(fault.Request) { counted++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /slots/{id}", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Millisecond)
			if r.PathValue("id") == "7" {
				fault.Write(w, r, fault.New(fault.CodeSlotConflict, "taken"))
			}
		})
		for _, path := range []string{"/slots/6", "/slots/7", "/slots/8"} {
			wrap(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		}
		if err := shut(t, m); err != nil || len(d.events) != 1 || emitted != 1 || counted != 3 {
			t.Errorf("%v: %d events, hooks saw %d and %d", err, len(d.events), emitted, counted)
		}
		for _, e := range d.events {
			if e.Code != fault.CodeSlotConflict || e.Endpoint != "GET /slots/{id}" || e.HTTPStatus != 409 || e.Service != "renderdb" || e.Region != "eu-1" {
				t.Errorf("emitted %+v", e)
			}
		}
		want := recoup.Processed{Minute: time.Now().Truncate(time.Minute).UTC(), Service: "renderdb", Count: 3, Failed: 1, DurationMS: 30, FailedDurationMS: 10}
		if len(d.counts) != 1 || len(d.counts[0]) != 1 || d.counts[0][0] != want {
			t.Errorf("counted %+v, want %+v", d.counts, want)
		}
	})
}

// Counts are sent every minute, by minute and table. What the server surely did
// not take is sent again; what it may have taken is not.
func TestCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newEventServer()
		d.refuse = func(n int) *fault.Error {
			return []*fault.Error{1: fault.New(fault.CodeServiceOverloaded, ""), 3: fault.New(fault.CodeInternalError, ""), 5: nil}[min(n, 5)]
		}
		m := start(t, client.EmitterOptions{Client: bubble(t, d)})
		for i := range 5 { // the second fails and comes again, the third fails and is lost
			m.Count("t", i%2 == 1, time.Second)
			m.Count("t", false, time.Second)
			time.Sleep(time.Minute + time.Second)
		}
		synctest.Wait()
		var got []string
		for _, batch := range d.counts {
			for _, c := range batch {
				got = append(got, fmt.Sprint(c.Table, " ", c.Count, " ", c.Failed, " ", c.DurationMS))
			}
		}
		if want := []string{"t 2 0 2000", "t 2 1 2000"}; !slices.Equal(got[:2], want) {
			t.Errorf("got %v, want %v first", got, want)
		}
		if err := shut(t, m); err != nil {
			t.Error(err)
		}
		total := int64(0)
		for _, batch := range d.counts {
			for _, c := range batch {
				total += c.Count
			}
		}
		if total != 8 {
			t.Errorf("%d of 10 arrived, one request of 2 failed in doubt", total)
		}
	})
}

// Errors in a log become events; everything is passed on.
func TestLogHandler(t *testing.T) {
	t.Parallel()
	timeout := fault.New(fault.CodeTimeout, "with a secret")
	for name, row := range map[string]struct {
		log  func(*slog.Logger)
		want recoup.Code
	}{
		"a fault":             {func(l *slog.Logger) { l.Error("failed", "error", timeout) }, fault.CodeTimeout},
		"wrapped":             {func(l *slog.Logger) { l.Error("failed", "error", fmt.Errorf("import: %w", timeout)) }, fault.CodeTimeout},
		"classified":          {func(l *slog.Logger) { l.Error("failed", "err", context.DeadlineExceeded) }, fault.CodeNetworkTimeout},
		"unknown":             {func(l *slog.Logger) { l.Error("failed", "err", errors.New("?")) }, fault.CodeInternalError},
		"in a group":          {func(l *slog.Logger) { l.Error("failed", slog.Group("g", "n", 1, "error", timeout)) }, fault.CodeTimeout},
		"of the logger":       {func(l *slog.Logger) { l.With("error", timeout).WithGroup("g").Error("failed") }, fault.CodeTimeout},
		"nearest":             {func(l *slog.Logger) { l.With("error", errors.New("?")).Error("failed", "error", timeout) }, fault.CodeTimeout},
		"below error":         {func(l *slog.Logger) { l.Warn("failed", "error", timeout) }, ""},
		"without an error":    {func(l *slog.Logger) { l.Error("failed", "error", timeout.Error()) }, ""},
		"an error, not there": {func(l *slog.Logger) { l.Error("failed", "error", error(nil)) }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLedger()
			m := start(t, client.EmitterOptions{Client: bubble(t, l)})
			var out strings.Builder
			row.log(slog.New(m.Handler(slog.NewTextHandler(&out, nil))))
			if err := shut(t, m); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "msg=failed") {
				t.Errorf("%s: the record was not passed on", name)
			}
			got := recoup.Code("")
			for _, e := range l.events {
				got = e.Code
				if e.TS.IsZero() || e.Details["retryable"] == nil || len(e.Details) != 1 {
					t.Errorf("%s: emitted %+v", name, e)
				}
			}
			if got != row.want || len(l.events) > 1 {
				t.Errorf("%s: emitted %q, want %q", name, got, row.want)
			}
		})
	}
}

// A record that the next handler does not want becomes an event all the same.
func TestLogHandlerKeepsLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		var out strings.Builder
		logger := slog.New(m.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError + 1})))
		logger.Error("failed", "error", context.DeadlineExceeded)
		if err := shut(t, m); err != nil || len(l.events) != 1 || out.String() != "" {
			t.Errorf("%v: %d events, and the log says %q", err, len(l.events), out.String())
		}
	})
}

// Within a request the event belongs to its trace, also if nobody reads the log.
func TestLogHandlerInARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		m := start(t, client.EmitterOptions{Client: bubble(t, l)})
		logger := slog.New(m.Handler(slog.DiscardHandler))
		wrap, err := fault.NewMiddleware(fault.Options{Service: "s", Now: time.Now, Random: zeros{}})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /x", func(_ http.ResponseWriter, r *http.Request) {
			logger.ErrorContext(r.Context(), "failed", "error", fault.New(fault.CodeTimeout, ""))
		})
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		wrap(mux).ServeHTTP(httptest.NewRecorder(), r)
		if err := shut(t, m); err != nil || len(l.events) != 1 {
			t.Fatalf("%v: %d events", err, len(l.events))
		}
		for _, e := range l.events {
			if e.CorrelationID.String() != "4bf92f35-77b3-4da6-a3ce-929d0e0e4736" || e.Endpoint != "GET /x" {
				t.Errorf("emitted %+v", e)
			}
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
