package turn

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
)

func caller(b byte) recoup.ID { return recoup.ID{b} }

// One caller has many requests, another has one: it is served second, not last.
func TestCallersFollowEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(1, time.Now)
		held, err := begin(With(t.Context(), turns, caller(1)))
		if err != nil {
			t.Fatal(err)
		}
		var served []byte
		for _, c := range []byte{1, 1, 1, 2, 3, 3} {
			go func() {
				mine, err := begin(With(t.Context(), turns, caller(c)))
				if err != nil {
					t.Error(err)
					return
				}
				served = append(served, c)
				mine.end()
			}()
			synctest.Wait()
		}
		if len(served) > 0 {
			t.Fatalf("%v were served while the only turn was taken", served)
		}
		held.end()
		synctest.Wait()
		if want := []byte{1, 2, 3, 1, 3, 1}; !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

// A long piece of work lets others go first between two steps.
func TestNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(1, time.Now)
		ctx := With(t.Context(), turns, caller(1))
		long, err := begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		served := false
		go func() {
			mine, err := begin(With(t.Context(), turns, caller(2)))
			if err != nil {
				t.Error(err)
				return
			}
			served = true
			mine.end()
		}()
		synctest.Wait()
		if err := long.next(ctx); err != nil || served {
			t.Fatalf("a turn ended before its time: %v", err)
		}
		time.Sleep(slice)
		if err := long.next(ctx); err != nil || !served {
			t.Fatalf("served %v, %v", served, err)
		}
		long.end()
		if turns.free != 1 {
			t.Errorf("%d turns are free, want 1", turns.free)
		}
	})
}

// A caller who gives up leaves the queue, and a turn that was given meanwhile goes on to the next.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(1, time.Now)
		held, err := begin(With(t.Context(), turns, caller(1)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if _, err := begin(With(ctx, turns, caller(2))); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want %v", err, context.Canceled)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if turns.wanted() || len(turns.waiting) > 0 {
			t.Error("who has given up still waits")
		}
		held.end()
		err = Each(With(ctx, turns, caller(1)), 1, func(int) error { t.Error("work is done for a caller who has gone"); return nil })
		if !errors.Is(err, context.Canceled) || turns.free != 1 {
			t.Errorf("%v, %d turns free", err, turns.free)
		}
		ready := make(chan struct{})
		turns.free = 0
		close(ready) // given
		if turns.leave(caller(3), ready); turns.free != 1 {
			t.Errorf("%d turns are free after one was given to a caller who had left, want 1", turns.free)
		}
	})
}

func TestWithoutTurns(t *testing.T) {
	t.Parallel()
	var done []int
	if err := Each(t.Context(), 3, func(i int) error { done = append(done, i); return nil }); err != nil || !slices.Equal(done, []int{0, 1, 2}) {
		t.Errorf("did %v, %v", done, err)
	}
}

// A caller with many requests leaves a turn for others. A turn that it may not take stays free.
func TestOneCallerLeavesATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, release := NewShared(4, time.Now), make(chan struct{})
		var running atomic.Int64
		for range 10 {
			go func() {
				_ = Each(With(t.Context(), turns, caller(1)), 1, func(int) error { running.Add(1); <-release; return nil })
			}()
			synctest.Wait()
		}
		if n := running.Load(); n != 3 {
			t.Errorf("one caller holds %d of 4 turns, want 3", n)
		}
		served := false
		go func() {
			_ = Each(With(t.Context(), turns, caller(2)), 1, func(int) error { served = true; return nil })
		}()
		synctest.Wait()
		if !served {
			t.Error("another caller waits for the requests of the first")
		}
		close(release)
		synctest.Wait()
		if n := running.Load(); n != 10 || turns.free != 4 || len(turns.held) > 0 || len(turns.waiting) > 0 {
			t.Errorf("%d of 10 ran, %d of 4 turns are free, held %v", n, turns.free, turns.held)
		}
	})
}

// The only turn goes to whoever asks.
func TestOnlyTurn(t *testing.T) {
	t.Parallel()
	done := 0
	if err := Each(With(t.Context(), NewShared(1, time.Now), caller(1)), 2, func(int) error { done++; return nil }); err != nil || done != 2 {
		t.Errorf("did %d, %v", done, err)
	}
}
