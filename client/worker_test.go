package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// run starts a worker and returns a function that stops it and returns what it
// said.
func run(t *testing.T, w client.Worker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func TestWorkerIsChecked(t *testing.T) {
	t.Parallel()
	whole := client.Worker{
		Client: connect(t, client.Options{Server: "http://s"}), Name: "w",
		Handler: func(context.Context, recoup.Error) error { return nil },
	}
	for name, spoil := range map[string]func(*client.Worker){
		"no client":  func(w *client.Worker) { w.Client = nil },
		"no name":    func(w *client.Worker) { w.Name = "" },
		"no handler": func(w *client.Worker) { w.Handler = nil },
		"too many":   func(w *client.Worker) { w.Concurrency = 1001 },
		"too long":   func(w *client.Worker) { w.Poll = time.Hour },
	} {
		w := whole
		spoil(&w)
		if err := w.Run(t.Context()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What a handler says becomes a result: its code, what the other side asked for,
// what the worker has proven.
func TestResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 7)
		stop := run(t, client.Worker{
			Client: bubble(t, o), Name: "w1", Tables: []string{"t"}, Concurrency: 5, Lease: time.Minute,
			Proven: []recoup.Condition{recoup.ConditionIdempotencyKey},
			Handler: func(_ context.Context, e recoup.Error) error {
				switch e.ID[15] {
				case 2:
					return fmt.Errorf("lookup: %w", fault.New(fault.CodeRateLimitExceeded, "slow down").After(1500*time.Millisecond))
				case 3:
					panic("a bug")
				case 4:
					runtime.Goexit()
				case 5:
					return errors.New(strings.Repeat("ä", 600) + "\x00")
				case 6:
					return fault.New("not a code", "")
				}
				return nil
			},
		})
		synctest.Wait()
		o.add(1) // id 1 again, found by the claim that waits
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		want := []string{"1 succeed", "1 succeed", "2 fail RATE_LIMIT_EXCEEDED", "3 fail RUNTIME_BUG", "4 fail RUNTIME_BUG",
			"5 fail INTERNAL_ERROR", "6 fail INTERNAL_ERROR", "7 succeed"}
		if got := o.said(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, r := range o.results {
			if r.LeaseToken != token(r.ErrorID) || len(r.Reason) > 1000 || strings.Contains(r.Reason, "\x00") {
				t.Errorf("sent %+v", r)
			}
			if failed := r.Outcome == recoup.OutcomeFailed; failed != slices.Equal(r.Proven, []recoup.Condition{recoup.ConditionIdempotencyKey}) || failed == (r.Reason == "") {
				t.Errorf("sent %+v", r)
			}
			if r.ErrorID == id(2) && r.RetryAfter != 2 {
				t.Errorf("asked to come back after %d s", r.RetryAfter)
			}
		}
		first, long := o.claims[0], o.claims[slices.IndexFunc(o.claims, func(c recoup.RetryClaim) bool { return c.WaitSeconds > 0 })]
		if first.Worker != "w1" || first.Limit != 5 || first.LeaseSeconds != 60 || first.WaitSeconds != 0 || !slices.Equal(first.Tables, []string{"t"}) {
			t.Errorf("claimed %+v first", first)
		}
		if long.WaitSeconds != 20 {
			t.Errorf("waited by %+v", long)
		}
	})
}

// At most Concurrency handlers run at once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 50)
		var running, most atomic.Int64
		stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Concurrency: 7, Handler: func(context.Context, recoup.Error) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			return nil
		}})
		time.Sleep(time.Minute)
		if most.Load() != 7 {
			t.Errorf("%d at once", most.Load())
		}
		for range 10 { // no slot is lost on the way
			o.add(1)
			time.Sleep(2 * time.Second)
		}
		most.Store(0)
		o.add(10)
		time.Sleep(time.Minute)
		if err := stop(); err != nil || most.Load() != 7 || len(o.said()) != 70 {
			t.Errorf("%v: %d at once, %d results", err, most.Load(), len(o.said()))
		}
	})
}

// A lease is extended at each third of it for as long as the handler runs.
func TestLeaseIsExtended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 1)
		began := time.Now()
		stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Handler: func(ctx context.Context, _ recoup.Error) error {
			time.Sleep(5 * time.Minute)
			return ctx.Err()
		}})
		time.Sleep(5*time.Minute + time.Second)
		if err := stop(); err != nil || !slices.Equal(o.said(), []string{"1 succeed"}) {
			t.Errorf("%v: %v", err, o.said())
		}
		for i, at := range o.extends {
			if want := time.Duration(i+1) * 20 * time.Second; at.Sub(began) != want {
				t.Errorf("extended after %v, want %v", at.Sub(began), want)
			}
		}
		if n := len(o.extends); n < 14 {
			t.Errorf("extended %d times", n)
		}
	})
}

// The context of a handler whose lease is lost ends; what it did not get done is not
// reported, what it did is.
func TestLeaseIsLost(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.CodeLeaseLost, "parked by ada")
	away := refuse(fault.New(fault.CodeTemporaryUnavailable, ""))
	for name, row := range map[string]struct {
		retryServer func(*retryServer)
		after       time.Duration
	}{
		"the server says so": {func(o *retryServer) {
			o.judge = func(r recoup.RetryResult) *fault.Error {
				if r.Outcome == recoup.OutcomeExtended {
					return lost
				}
				return nil
			}
		}, 20 * time.Second},
		"nobody answers": {func(o *retryServer) {
			o.fail = func(path string, n int) http.HandlerFunc {
				if strings.HasSuffix(path, "/results") && n < 9 {
					return away
				}
				return nil
			}
		}, 60 * time.Second},
		"the server hangs": {func(o *retryServer) {
			o.fail = func(path string, n int) http.HandlerFunc {
				if strings.HasSuffix(path, "/results") && n < 2 { // a request takes half a minute
					return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
				}
				return nil
			}
		}, 60 * time.Second},
	} {
		for _, gets := range []error{nil, errors.New("broken off")} {
			synctest.Test(t, func(t *testing.T) {
				o := newRetryServer(time.Minute, 1)
				row.retryServer(o)
				var took time.Duration
				stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Handler: func(ctx context.Context, _ recoup.Error) error {
					began := time.Now()
					<-ctx.Done()
					took = time.Since(began)
					if !errors.Is(context.Cause(ctx), client.ErrLeaseLost) {
						t.Errorf("%s: the handler was told %v", name, context.Cause(ctx))
					}
					return gets
				}})
				time.Sleep(2 * time.Minute)
				if err := stop(); err != nil || took != row.after {
					t.Errorf("%s: %v: lost after %v, want %v", name, err, took, row.after)
				}
				want := []string(nil)
				if gets == nil {
					want = []string{"1 succeed"}
				}
				if got := o.said(); !slices.Equal(got, want) {
					t.Errorf("%s: said %q, want %q", name, got, want)
				}
			})
		}
	}
}

// Trouble with the server that is over before the lease is costs nothing.
func TestLeaseSurvivesTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 1)
		o.fail = func(path string, n int) http.HandlerFunc {
			if strings.HasSuffix(path, "/results") && n%2 == 0 { // every other extension and the first try of the result
				return cut
			}
			return nil
		}
		busy := fault.New(fault.CodeDatabaseBusy, "")
		o.judge = func(r recoup.RetryResult) *fault.Error { // once
			answer := busy
			busy = nil
			return answer
		}
		stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Handler: func(ctx context.Context, _ recoup.Error) error {
			time.Sleep(2 * time.Minute)
			return ctx.Err()
		}})
		time.Sleep(3 * time.Minute)
		if err := stop(); err != nil || !slices.Equal(o.said(), []string{"1 succeed"}) {
			t.Errorf("%v: %v", err, o.said())
		}
	})
}

// A stop lets handlers finish, and sends their results. Those that take too long
// are broken off, and that is no failure of theirs.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 2)
		stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Handler: func(ctx context.Context, e recoup.Error) error {
			if e.ID == id(1) {
				time.Sleep(10 * time.Second)
				return ctx.Err()
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), client.ErrStopped) {
				t.Errorf("the handler was told %v", context.Cause(ctx))
			}
			return ctx.Err()
		}})
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if got, want := o.said(), []string{"1 succeed", "2 fail WORKER_LOST"}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
		o.add(1)
		time.Sleep(time.Minute)
		if len(o.due) != 1 {
			t.Error("a worker that has stopped claims")
		}
	}) // and no goroutine is left in the bubble
}

// A stop ends a claim that waits at once, and takes what a prompt one has leased.
func TestStopDuringAClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 0)
		w := client.Worker{Client: bubble(t, o), Name: "w", Handler: func(context.Context, recoup.Error) error { return nil }}
		stop := run(t, w)
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		o = newRetryServer(time.Minute, 1)
		o.fail = func(path string, n int) http.HandlerFunc {
			if strings.HasSuffix(path, "/claim") && n == 0 {
				return func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(time.Second) // the stop comes now
					o.claim(w, r)
				}
			}
			return nil
		}
		w.Client = bubble(t, o)
		stop = run(t, w)
		synctest.Wait()
		if err := stop(); err != nil || !slices.Equal(o.said(), []string{"1 succeed"}) {
			t.Errorf("%v: said %v", err, o.said())
		}
	})
}

// Handlers that never return are left behind, and counted.
func TestStubbornHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Hour, 1)
		release := make(chan struct{})
		stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Grace: time.Second, Handler: func(context.Context, recoup.Error) error {
			<-release
			return nil
		}})
		synctest.Wait()
		began := time.Now()
		if err := stop(); !errors.Is(err, fault.New(fault.CodeWorkerLost, "")) || time.Since(began) != 6*time.Second || len(o.said()) != 0 {
			t.Errorf("%v after %v: said %v", err, time.Since(began), o.said())
		}
		close(release)
	})
}

// A worker outlives a server that is away, and its answers that are lost; it ends
// when it is refused for good.
func TestWorkerInTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 2)
		busy := fault.New(fault.CodeDatabaseBusy, "")
		refusals := 2
		o.judge = func(r recoup.RetryResult) *fault.Error { // of one item, for the moment
			if refusals--; r.Outcome == recoup.OutcomeSucceeded && refusals >= 0 {
				return busy
			}
			return nil
		}
		o.fail = func(path string, n int) http.HandlerFunc {
			switch {
			case strings.HasSuffix(path, "/claim") && n < 3:
				return refuse(fault.New(fault.CodeServiceOverloaded, "").After(2 * time.Second))
			case strings.HasSuffix(path, "/results") && n == 1:
				return cut
			}
			return nil
		}
		stop := run(t, client.Worker{Client: bubble(t, o), Name: "w", Handler: func(context.Context, recoup.Error) error { return nil }})
		time.Sleep(time.Minute)
		if err := stop(); err != nil || !slices.Equal(o.said(), []string{"1 succeed", "2 succeed"}) {
			t.Errorf("%v: said %v", err, o.said())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 0)
		o.fail = func(string, int) http.HandlerFunc { return refuse(fault.New(fault.CodeInsufficientPermissions, "")) }
		w := client.Worker{Client: bubble(t, o), Name: "w", Handler: func(context.Context, recoup.Error) error { return nil }}
		if err := w.Run(t.Context()); !errors.Is(err, fault.New(fault.CodeInsufficientPermissions, "")) {
			t.Errorf("got %v", err)
		}
	})
}

// Many errors over a real network: each is worked on once.
func TestWorkerOnLoopback(t *testing.T) {
	t.Parallel()
	o := newRetryServer(time.Minute, 200)
	s := serve(t, o.ServeHTTP)
	var handled sync.Map
	done := make(chan struct{})
	var n atomic.Int64
	stop := run(t, client.Worker{Client: s.client(t), Name: "w", Concurrency: 64, Handler: func(_ context.Context, e recoup.Error) error {
		if _, twice := handled.LoadOrStore(e.ID, true); twice {
			t.Errorf("%s twice", e.ID)
		}
		if n.Add(1) == 200 {
			close(done)
		}
		return nil
	}})
	<-done
	if err := stop(); err != nil || len(o.said()) != 200 {
		t.Errorf("%v: %d results", err, len(o.said()))
	}
}
