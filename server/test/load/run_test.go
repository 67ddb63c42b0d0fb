package load_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/test/load"
)

// sleep is that of a bubble.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// options are those of a load in a bubble, whose operations take as long as take says.
func options(mix load.Mix, rate, clients int, span time.Duration, take func(load.Operation) time.Duration) load.Options {
	return load.Options{
		Plan: load.NewPlan(mix, rate, span, 1), Clients: clients, Drain: 10 * time.Second, Now: time.Now, Sleep: sleep,
		Do: func(_ context.Context, op load.Operation) load.Outcome {
			time.Sleep(take(op))
			return load.Outcome{Items: 1}
		},
	}
}

func always(d time.Duration) func(load.Operation) time.Duration {
	return func(load.Operation) time.Duration { return d }
}

// A server that is fast enough is measured as fast as it is, and at the rate asked for.
func TestSteadyLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := load.New(options(mixOf(t, "report=1,gate=1"), 100, 4, 10*time.Second, always(3*time.Millisecond)))
		l.Run(t.Context())
		f := l.Figures()
		if f.Planned != 1000 || f.Unsent != 0 || f.All.Sent != 1000 || f.All.Items != 1000 || f.Queue.Waited != 0 || f.Late() || f.Lag.Max != 0 {
			t.Errorf("%+v", f)
		}
		if f.All.Latency.P50 != 3 || f.All.Latency.Max != 3 || f.All.Service != f.All.Latency || f.All.Rate < 99.9 {
			t.Errorf("latency %+v, rate %v", f.All.Latency, f.All.Rate)
		}
		if len(f.Kinds) != 2 || f.Kinds[0].Sent+f.Kinds[1].Sent != 1000 {
			t.Errorf("kinds: %+v", f.Kinds)
		}
	})
}

// A stall of two seconds is seen by every operation that was due meanwhile, sent or not:
// counted from when they were sent, all but as many as there are clients look quick.
func TestStallIsNotOmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clients = 2
		start := time.Now()
		l := load.New(options(mixOf(t, "report=1"), 100, clients, 10*time.Second, func(load.Operation) time.Duration {
			if at := time.Since(start); at >= 4*time.Second && at < 6*time.Second {
				return 6*time.Second - at
			}
			return time.Millisecond
		}))
		l.Run(t.Context())
		f := l.Figures()
		if f.All.Service.P99 != 1 { // what a closed loop would have measured
			t.Errorf("from when they were sent, 99 of 100 took up to %v ms", f.All.Service.P99)
		}
		if f.All.Latency.P90 < 900 || f.All.Latency.P99 < 1800 || f.All.Latency.Max < 1990 {
			t.Errorf("the stall is not seen: %+v", f.All.Latency)
		}
		if f.Queue.Waited < 190 || f.Unsent != 0 || f.All.Sent != 1000 || f.Late() {
			t.Errorf("%d waited for a client, %d were not sent; %+v", f.Queue.Waited, f.Unsent, f.Lag)
		}
	})
}

// A server that cannot keep up leaves operations unsent, which is said.
func TestOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := load.New(options(mixOf(t, "report=1"), 100, 1, 10*time.Second, always(100*time.Millisecond)))
		l.Run(t.Context())
		f := l.Figures()
		if f.All.Sent != 201 || f.Unsent != 799 || f.Planned != 1000 || f.All.Rate != 10 {
			t.Errorf("sent %d, unsent %d of %d at %v/s", f.All.Sent, f.Unsent, f.Planned, f.All.Rate)
		}
	})
}

// A generator whose timers are late says so, and does not blame the server's queue.
func TestLateGenerator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := options(mixOf(t, "report=1"), 10, 4, 5*time.Second, always(time.Millisecond))
		o.Sleep = func(ctx context.Context, d time.Duration) error { return sleep(ctx, d+20*time.Millisecond) }
		l := load.New(o)
		l.Run(t.Context())
		if f := l.Figures(); !f.Late() || f.Lag.P50 != 20 || f.Queue.Waited != 0 || f.All.Latency.P50 < 21 || f.All.Service.P50 != 1 {
			t.Errorf("lag %+v, queue %+v, latency %+v", f.Lag, f.Queue, f.All.Latency)
		}
	})
}

// A generator without CPU to spare is never late, because none of its clients is ever
// free: that it is the bottleneck shows in the CPU that it takes.
func TestSaturatedGenerator(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.4, 0.95} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now().Add(-time.Hour)
			o := options(mixOf(t, "report=1"), 100, 1, 5*time.Second, always(20*time.Millisecond))
			o.CPUs = 2
			o.CPU = func() time.Duration { return time.Duration(share * 2 * float64(time.Since(began))) }
			l := load.New(o)
			l.Run(t.Context())
			time.Sleep(time.Minute) // what it takes later is not the run's
			if f := l.Figures(); f.Saturated() != (share > 0.9) || f.Busy != share || f.Late() || f.Queue.Waited == 0 {
				t.Errorf("of %v: %v, late %v, %d waited", share, f.Busy, f.Late(), f.Queue.Waited)
			}
		})
	}
}

// An interrupt begins nothing more, and waits for what is under way.
func TestInterruptedLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 2550*time.Millisecond)
		defer stop()
		var under atomic.Int64
		o := options(mixOf(t, "report=1"), 10, 5, time.Minute, nil)
		o.Do = func(ctx context.Context, _ load.Operation) load.Outcome {
			under.Add(1)
			defer under.Add(-1)
			if sleep(ctx, 300*time.Millisecond) != nil {
				return load.Outcome{Code: "CANCELLED"}
			}
			return load.Outcome{}
		}
		l := load.New(o)
		l.Run(ctx)
		f := l.Figures()
		if under.Load() != 0 || f.All.Done != 26 || f.All.Failed != 0 || f.Planned != 26 || f.Unsent != 0 {
			t.Errorf("%d under way; %+v", under.Load(), f)
		}
	})
}

// Answers with 429 are counted apart: dropped, with no latency, or sent again when the
// server says, and then with their wait.
func TestLimitedLoad(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%v", again), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := options(mixOf(t, "report=1"), 10, 100, 10*time.Second, nil)
				start := time.Now()
				o.Again = again
				o.Do = func(_ context.Context, op load.Operation) load.Outcome {
					if op.Nth%10 == 0 && time.Since(start) == op.Due {
						return load.Outcome{Limited: true, RetryAfter: 2 * time.Second}
					}
					return load.Outcome{}
				}
				l := load.New(o)
				l.Run(t.Context())
				f := l.Figures().All
				want := load.Kind{Sent: 100, Done: 90, Dropped: 10, Limited: 10}
				if again {
					want = load.Kind{Sent: 100, Done: 100, Limited: 10, Latency: load.Latency{P99: 2000, Max: 2000}}
				}
				if f.Sent != want.Sent || f.Done != want.Done || f.Dropped != want.Dropped || f.Limited != want.Limited || f.Latency.Max != want.Latency.Max || f.Latency.P99 != want.Latency.P99 {
					t.Errorf("%+v", f)
				}
			})
		})
	}
}

// Whatever becomes of operations, they add up.
func TestFiguresAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		fates := rapid.SliceOfN(rapid.SampledFrom([]load.Outcome{
			{Items: 3}, {}, {Code: "A"}, {Code: "B", Items: 1}, {Limited: true}, {Skipped: true},
		}), 1, 8).Draw(r, "fates")
		takes := rapid.SliceOfN(rapid.IntRange(0, 400), 1, 8).Draw(r, "ms")
		clients, again := rapid.IntRange(1, 5).Draw(r, "clients"), rapid.Bool().Draw(r, "again")
		var f load.Figures
		synctest.Test(t, func(*testing.T) {
			var n atomic.Int64
			o := options(mixOf(t, "report=2,gate=1,claim=1"), 20, clients, 3*time.Second, nil)
			o.Drain, o.Again = time.Second, again
			o.Do = func(_ context.Context, op load.Operation) load.Outcome {
				time.Sleep(time.Duration(takes[op.Random%uint64(len(takes))]) * time.Millisecond)
				return fates[int(n.Add(1))%len(fates)]
			}
			l := load.New(o)
			l.Run(context.Background())
			f = l.Figures()
		})
		check(r, f)
	})
}

// check fails if figures do not add up.
func check(t *rapid.T, f load.Figures) {
	var sum load.Kind
	for _, k := range append(f.Kinds, f.All) {
		errors := 0
		for _, n := range k.Errors {
			errors += n
		}
		if k.Sent != k.Done+k.Failed+k.Dropped || errors != k.Failed || k.Limited < k.Dropped {
			t.Fatalf("%s does not add up: %+v", k.Kind, k)
		}
		if l := k.Latency; l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || k.Service.Max > l.Max {
			t.Fatalf("%s has quantiles out of order: %+v, %+v", k.Kind, l, k.Service)
		}
		if k.Kind != "all" {
			sum.Sent, sum.Skipped, sum.Items, sum.Limited = sum.Sent+k.Sent, sum.Skipped+k.Skipped, sum.Items+k.Items, sum.Limited+k.Limited
		}
	}
	if a := f.All; a.Sent != sum.Sent || a.Skipped != sum.Skipped || a.Items != sum.Items || a.Limited != sum.Limited || f.Planned != a.Sent+a.Skipped+f.Unsent {
		t.Fatalf("all of them are not the sum: %+v of %+v", f, sum)
	}
}
