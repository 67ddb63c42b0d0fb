package endtoend

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// A body of 2.8 million empty items is refused at the first one too many, and the
// node grows by less than 64 MiB over it.
func TestHostileBodyBomb(t *testing.T) {
	t.Parallel()
	s := besiege(t, live.SQLite(t))
	bomb := `{"reports":[` + strings.Repeat("{},", (8<<20-100)/3) + `{}]}`
	s.live(3)
	s.forgetPeak()
	resident := s.memory("VmRSS")
	for range some(10, 2) {
		if status, text, _ := s.call(s.hostile, "POST", "/v1/errors/batch", bomb); status != http.StatusBadRequest || !strings.Contains(text, "between 1 and 1000 items") {
			t.Errorf("it is answered %d %.300s", status, text)
		}
	}
	peak := s.memory("VmHWM")
	t.Logf("%-28s from %d to %d MiB", "body bombs:", resident, peak)
	if peak-resident >= 64 {
		t.Errorf("the node grew by %d MiB", peak-resident)
	}
}

// A client that names a new service with every event and count costs as much as
// one that names a thousand, and a scrape shows a hundred.
func TestHostileLabels(t *testing.T) {
	t.Parallel()
	s := besiege(t, live.SQLite(t))
	s.live(3)
	resident := s.memory("VmRSS")
	for i := range some(50, 4) {
		var events, counts []string
		for k := range 1000 {
			events = append(events, fmt.Sprintf(`{"code":"TIMEOUT","service":"svc-%d-%d"}`, i, k))
			counts = append(counts, fmt.Sprintf(`{"service":"api-%d-%d","count":1}`, i, k))
		}
		if status, text, _ := s.call(s.hostile, "POST", "/v1/events", `{"events":[`+strings.Join(events, ",")+`]}`); status != http.StatusAccepted {
			t.Fatal(status, text)
		}
		if status, text, _ := s.call(s.hostile, "POST", "/v1/processed", `{"counts":[`+strings.Join(counts, ",")+`]}`); status != http.StatusAccepted {
			t.Fatal(status, text)
		}
	}
	_, text, took := s.call(s.key(), "GET", "/metrics", "")
	series := strings.Count(text, "recoup_request_error_rate_samples{service=")
	t.Logf("%-28s %d series of services, %d lines in %s; from %d to %d MiB", "new names:", series, strings.Count(text, "\n"), took.Round(time.Millisecond), resident, s.memory("VmRSS"))
	if series == 0 || series > 101 || !strings.Contains(text, `service="_other"`) {
		t.Errorf("%d services have series", series)
	}
}

// Under a flood of reports the gate answers every call, /readyz says that the node
// is overloaded, and the log says so in a few lines.
func TestHostileOverload(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := besiege(t, d, "--in-flight", "8")
		before := s.paced(1, some(200, 20))
		keys := make([]string, 12)
		for k := range keys {
			keys[k] = s.made("ingest")
		}
		stop := make(chan struct{})
		var flood sync.WaitGroup
		var done, shed atomic.Int64
		for k, key := range keys {
			for range 4 {
				flood.Go(func() {
					pace := time.NewTicker(50 * time.Millisecond)
					defer pace.Stop()
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						case <-pace.C:
						}
						switch status, _, _ := s.call(key, "POST", "/v1/errors", fmt.Sprintf(`{"table":%q,"entity_id":"F-%d-%d","code":"NETWORK_TIMEOUT"}`, workTable, k, i)); status {
						case http.StatusServiceUnavailable, http.StatusTooManyRequests:
							shed.Add(1)
						default:
							done.Add(1)
						}
					}
				})
			}
		}
		s.await("nothing is shed", func() bool { return shed.Load() > 10 })
		now := s.paced(10, some(200, 10))
		var ready figures
		overloaded := 0
		for range some(100, 10) {
			status, text, took := s.call("", "GET", "/readyz", "")
			if status != http.StatusOK {
				t.Errorf("/readyz answers %d %s", status, text)
			}
			if strings.Contains(text, "overloaded") {
				overloaded++
			}
			ready = append(ready, took)
		}
		close(stop)
		flood.Wait()
		if overloaded == 0 {
			t.Error("/readyz never says that the node is overloaded")
		}
		s.beside("the gate at ten times, "+d.Kind, before, now)
		t.Logf("%-28s %v, %d times overloaded; %d reports done, %d turned away", "/readyz, "+d.Kind+":", ready, overloaded, done.Load(), shed.Load())
		if lines := strings.Count(s.log.String(), "\n"); lines > 50 {
			t.Errorf("the log has %d lines:\n%.2000s", lines, s.log)
		}
	})
}

// paced has so many callers ask the gate, each fifty times a second at most. All
// must be answered.
func (s *siege) paced(callers, calls int) figures {
	s.Helper()
	var mu sync.Mutex
	var took figures
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for i := range calls {
				<-pace.C
				status, text, d := s.call(s.neighbour, "GET", fmt.Sprintf("/v1/promotion/G-%d-%d", c, i), "")
				if status != http.StatusOK {
					s.Errorf("the gate answers %d %s", status, text)
				}
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return took
}
