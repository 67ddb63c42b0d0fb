package ledger_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Tests that run in a bubble also show that no goroutine is left behind: the bubble
// fails if one is.

func TestBatchesBySize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(works)
		w := newWriter(t, f, func(o *ledger.Options) { o.BatchSize = 10 })
		begun := time.Now()
		source := newEvents()
		for range 4 {
			mustAppend(t, w, source.make(6))
		}
		synctest.Wait()
		if !slices.Equal(f.look().sizes, []int{10, 10}) || !f.look().at[1].Equal(begun) {
			t.Errorf("the batches are %v at %v: full ones go at once", f.look().sizes, f.look().at)
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if !slices.Equal(f.look().sizes, []int{10, 10, 4}) {
			t.Errorf("the batches are %v: the rest waits no longer than others", f.look().sizes)
		}
		mustAppend(t, w, source.make(25))
		synctest.Wait()
		if !slices.Equal(f.look().sizes[3:], []int{10, 10}) {
			t.Errorf("the batches are %v", f.look().sizes)
		}
		mustClose(t, w)
		if !slices.Equal(f.look().sizes[5:], []int{5}) || f.look().rows != 49 {
			t.Errorf("the batches are %v, of %d events", f.look().sizes, f.look().rows)
		}
	})
}

func TestBatchesByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(works)
		w := newWriter(t, f, nil)
		begun := time.Now()
		source := newEvents()
		mustAppend(t, w, source.make(1))
		time.Sleep(15 * time.Millisecond)
		mustAppend(t, w, source.make(1))
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if !slices.Equal(f.look().sizes, []int{2}) || f.look().at[0].Sub(begun) != 20*time.Millisecond {
			t.Errorf("the batches are %v after %v", f.look().sizes, f.look().at)
		}
		urgent := time.Now()
		mustAppend(t, w, source.make(1))
		if err := mustAppend(t, w, source.make(1)).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(urgent); took != 5*time.Millisecond || !slices.Equal(f.look().sizes, []int{2, 2}) {
			t.Errorf("who waits is answered after %v, with batches of %v", took, f.look().sizes)
		}
		mustClose(t, w)
	})
}

// A wait in the rest of a batch is as urgent as one in its head.
func TestUrgencyOutlivesABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(works)
		w := newWriter(t, f, func(o *ledger.Options) { o.BatchSize = 10 })
		begun := time.Now()
		if err := mustAppend(t, w, newEvents().make(13)).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 5*time.Millisecond || !slices.Equal(f.look().sizes, []int{10, 3}) {
			t.Errorf("answered after %v, with batches of %v", took, f.look().sizes)
		}
		mustClose(t, w)
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errAway, errUnknown, errBusy, errFull, context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			var log said
			f := newFake(failing(50, err)) // longer than what looks permanent would be borne
			w := newWriter(t, f, func(o *ledger.Options) { o.Logger, o.WaitLimit = logger(&log), time.Hour })
			events := newEvents().make(3)
			r := mustAppend(t, w, events)
			time.Sleep(time.Second)
			if s := w.Stats(); s.Held != 3 || s.Oldest != time.Second || s.Away == 0 || s.Failures == 0 {
				t.Errorf("%v: while the store is away: %+v", err, s)
			}
			if err := r.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			var waits []time.Duration
			for i, at := range f.look().at[1:] {
				waits = append(waits, at.Sub(f.look().at[i])/time.Millisecond)
			}
			if want := []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000}; !slices.Equal(waits[:8], want) || len(waits) != 50 {
				t.Errorf("%v: tried after %v ms, want %v", err, waits, want)
			}
			if log.count("cannot write") != 1 || log.count("ledger recovered") != 1 {
				t.Errorf("%v: the log says\n%s", err, log.text.String())
			}
			if s := w.Stats(); s.Away != 0 || s.Flushes.Count != 1 {
				t.Errorf("%v: afterwards: %+v", err, s)
			}
			mustClose(t, w)
		})
	}
}

// What a store did without being able to say so is not done twice.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(func(n int) (bool, error) {
			if n == 1 {
				return true, errUnknown
			}
			return false, nil
		})
		w := newWriter(t, f, nil)
		events := newEvents().make(5)
		if err := mustAppend(t, w, events).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if s := w.Stats(); s.Duplicates != 5 || f.has(events) != 5 {
			t.Errorf("%d of the events are there, %+v", f.has(events), s)
		}
		mustClose(t, w)
	})
}

func TestBound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		err    error
		code   string
		change func(*ledger.Options)
	}{
		{"away", errAway, "DATABASE_CONNECTION_ERROR", func(o *ledger.Options) { o.MaxEvents = 10 }},
		{"slow", errBusy, "SERVICE_OVERLOADED", func(o *ledger.Options) { o.MaxEvents = 10 }},
		{"bytes", errAway, "DATABASE_CONNECTION_ERROR", func(o *ledger.Options) { o.MaxBytes = 10 * 300 }},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(failing(8, row.err))
			w := newWriter(t, f, row.change)
			source := newEvents()
			kept := source.make(8)
			r := mustAppend(t, w, kept)
			time.Sleep(time.Second) // in the batch that fails, which counts
			rest := source.make(3)
			_, err := w.Append(t.Context(), rest)
			var e *fault.Error
			if !errors.As(err, &e) || string(e.Code) != row.code || e.RetryAfter < time.Second {
				t.Errorf("%s: %v", row.name, err)
			}
			if s := w.Stats(); s.Refused != 3 || s.Held != 8 {
				t.Errorf("%s: a batch is accepted whole or not at all: %+v", row.name, s)
			}
			_, err = w.Append(t.Context(), source.make(20))
			wantCode(t, err, fault.CodePayloadTooLarge, 0)
			if err := r.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			mustAppend(t, w, rest) // it recovers by itself
			mustClose(t, w)
			if f.has(kept) != 8 || f.has(rest) != 3 {
				t.Errorf("%s: %d and %d events are there", row.name, f.has(kept), f.has(rest))
			}
		})
	}
}

// Who waits does not wait for ever, and what it waited for is written all the same.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(failing(20, errAway))
		w := newWriter(t, f, nil)
		events := newEvents().make(2)
		r := mustAppend(t, w, events)
		begun := time.Now()
		wantCode(t, r.Wait(t.Context()), fault.CodeDatabaseConnectionError, time.Second)
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("waited %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.Wait(ctx)
		wantCode(t, err, fault.CodeDatabaseConnectionError, time.Second)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v does not say why", err)
		}
		mustClose(t, w)
		if err := r.Wait(t.Context()); err != nil || f.has(events) != 2 {
			t.Errorf("%d events are there, %v", f.has(events), err)
		}
	})
}

// One event that the store refuses is found, dropped and counted; its neighbours
// are written, and only who sent it hears of it.
func TestPoison(t *testing.T) {
	t.Parallel()
	for _, refuses := range []error{store.ErrRefused, sqlState("23502"), sqlState("22021")} {
		synctest.Test(t, func(t *testing.T) { tryPoison(t, refuses) })
	}
}

func tryPoison(t *testing.T, refuses error) {
	var log said
	f := newFake(works)
	f.refuses = refuses
	w := newWriter(t, f, func(o *ledger.Options) { o.BatchSize, o.Logger = 1000, logger(&log) })
	source := newEvents()
	var receipts []*ledger.Receipt
	for i := range 10 {
		events := source.make(100)
		if i == 3 {
			events[7].Service, events[99].Service = poison, poison
		}
		receipts = append(receipts, mustAppend(t, w, events))
	}
	for i, r := range receipts {
		switch err := r.Wait(t.Context()); {
		case i == 3:
			wantCode(t, err, fault.CodeConstraintViolation, 0)
			if !errors.Is(err, refuses) {
				t.Errorf("%v does not say why", err)
			}
		case err != nil:
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if f.look().rows != 998 || len(f.look().sizes) > 45 || log.count("dropped events") != 2 {
		t.Errorf("%d events are there after %d tries; the log says\n%s", f.look().rows, len(f.look().sizes), log.text.String())
	}
	mustClose(t, w)
	if want := map[string]int64{ledger.DropRefusedByStore: 2}; !maps.Equal(f.look().drops, want) || !maps.Equal(w.Stats().Dropped, want) {
		t.Errorf("counted %v and %v", f.look().drops, w.Stats().Dropped)
	}
}

// A store that fails in a way that nobody understands gets a few chances, and then
// the next batch does.
func TestPermanentFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(failing(41, errBroken))
		w := newWriter(t, f, func(o *ledger.Options) { o.WaitLimit = time.Hour })
		source := newEvents()
		lost, kept := source.make(4), source.make(4)
		r := mustAppend(t, w, lost)
		err := r.Wait(t.Context())
		wantCode(t, err, fault.CodeInternalError, 0)
		if !errors.Is(err, errBroken) || len(f.look().sizes) != 41 {
			t.Errorf("%v after %d tries", err, len(f.look().sizes))
		}
		if err := mustAppend(t, w, kept).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		mustClose(t, w)
		if f.look().drops[ledger.DropStoreFailed] != 4 || f.has(lost) != 0 || f.has(kept) != 4 {
			t.Errorf("dropped %v; %d and %d are there", f.look().drops, f.has(lost), f.has(kept))
		}
	})
}

// A store that never answers is as good as one that is away.
func TestHungStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(works)
		hung := true
		f.linger = func(ctx context.Context) {
			if hung {
				<-ctx.Done()
				hung = false
			}
		}
		w := newWriter(t, f, func(o *ledger.Options) { o.WaitLimit = time.Hour })
		begun := time.Now()
		if err := mustAppend(t, w, newEvents().make(1)).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun).Round(time.Second); took != 30*time.Second {
			t.Errorf("the store was given up after %v", took)
		}
		mustClose(t, w)
	})
}

func TestFlushersWorkTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(works)
		f.linger = func(context.Context) { time.Sleep(20 * time.Millisecond) }
		w := newWriter(t, f, func(o *ledger.Options) { o.BatchSize, o.Flushers = 10, 2 })
		synctest.Wait() // until both wait for work
		begun := time.Now()
		if err := mustAppend(t, w, newEvents().make(40)).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 40*time.Millisecond {
			t.Errorf("four inserts of 20 ms by two took %v", took)
		}
		mustClose(t, w)
		s := w.Stats().Flushes
		for i, bound := range ledger.DurationBounds() {
			if want := uint64(4); (s.Within[i] == want) != (bound >= 20*time.Millisecond) || s.Within[i]%want != 0 {
				t.Errorf("%d inserts took at most %v", s.Within[i], bound)
			}
		}
		if s.Count != 4 || s.Sum != 80*time.Millisecond {
			t.Errorf("%d inserts took %v", s.Count, s.Sum)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(failing(5, errAway))
		w := newWriter(t, f, func(o *ledger.Options) { o.BatchSize, o.Flushers = 10, 2 })
		events := newEvents().make(1234)
		r := mustAppend(t, w, events)
		var closing sync.WaitGroup
		for range 3 {
			closing.Go(func() { mustClose(t, w) })
		}
		closing.Wait()
		if err := r.Wait(t.Context()); err != nil || f.has(events) != 1234 {
			t.Errorf("%d events are there, %v", f.has(events), err)
		}
		_, err := w.Append(t.Context(), newEvents().make(1))
		wantCode(t, err, fault.CodeTemporaryUnavailable, time.Second)
	})
}

// TestCloseCountsAcknowledged closes a writer that cannot write: events whose producer
// waits for them were never acknowledged, and are not among those that it names.
func TestCloseCountsAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, newFake(failing(1e6, errAway)), func(o *ledger.Options) { o.BatchSize, o.Flushers = 10, 2 })
		events := newEvents()
		awaited := mustAppend(t, w, events.make(5))
		mustAppend(t, w, events.make(3))
		answered := make(chan error, 1)
		go func() { answered <- awaited.Wait(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var lost *ledger.LostError
		if err := w.Close(ctx); !errors.As(err, &lost) || lost.Events != 3 {
			t.Errorf("closed with %v", err)
		}
		if err := <-answered; err == nil {
			t.Error("the producer that waits was told that its events are stored")
		}
		if s := w.Stats(); s.Lost != 8 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(failing(1e6, errAway))
		tally := ledger.NewTally()
		w := newWriter(t, f, func(o *ledger.Options) { o.BatchSize, o.Flushers, o.Tally = 10, 2, tally })
		tally.Add(time.Now(), ledger.DropCode, 7)
		r := mustAppend(t, w, newEvents().make(55))
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var lost *ledger.LostError
		if err := w.Close(ctx); !errors.As(err, &lost) || *lost != (ledger.LostError{Events: 55, Drops: 7}) {
			t.Errorf("closed with %v", err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("closing took %v", took)
		}
		wantCode(t, r.Wait(t.Context()), fault.CodeDatabaseConnectionError, 0)
		if s := w.Stats(); s.Lost != 55 || s.Held != 0 || s.Bytes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Drop counts are kept through an outage and arrive once.
func TestDropsSurviveAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		f := newFake(func(int) (bool, error) {
			if away.Load() {
				return false, errAway
			}
			return false, nil
		})
		tally := ledger.NewTally()
		w := newWriter(t, f, func(o *ledger.Options) { o.Tally = tally })
		for day := range 5 {
			tally.Add(time.Now().AddDate(0, 0, day), ledger.DropCode, 2)
			tally.Add(time.Now().AddDate(0, 0, day), ledger.DropTime, 1)
			time.Sleep(time.Minute)
		}
		if drops := f.look().drops; len(drops) > 0 {
			t.Errorf("counted %v by a store that is away", drops)
		}
		away.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if want := map[string]int64{ledger.DropCode: 10, ledger.DropTime: 5}; !maps.Equal(f.look().drops, want) {
			t.Errorf("counted %v, want %v", f.look().drops, want)
		}
		mustClose(t, w)
	})
}

func TestWriterNeedsItsParts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ledger.Options){
		"store":    func(o *ledger.Options) { o.Store = nil },
		"tally":    func(o *ledger.Options) { o.Tally = nil },
		"clock":    func(o *ledger.Options) { o.Now = nil },
		"random":   func(o *ledger.Options) { o.Random = nil },
		"size":     func(o *ledger.Options) { o.BatchSize = -1 },
		"bound":    func(o *ledger.Options) { o.MaxBytes = -1 },
		"schedule": func(o *ledger.Options) { o.Retry.Schedule.Kind = "odd" },
	} {
		o := ledger.Options{Store: newFake(works), Tally: ledger.NewTally(), Now: time.Now, Random: func() float64 { return 0 }}
		change(&o)
		if w, err := ledger.NewWriter(o); err == nil {
			t.Errorf("%s: accepted", name)
			mustClose(t, w)
		}
	}
}

func TestAppendNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(works)
		w := newWriter(t, f, nil)
		if err := mustAppend(t, w, nil).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Append(ctx, newEvents().make(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever has gone gets %v", err)
		}
		mustClose(t, w)
		if len(f.look().sizes) > 0 {
			t.Errorf("nothing was written %d times", len(f.look().sizes))
		}
	})
}
