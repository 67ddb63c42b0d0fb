package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// held is a store that answers when the test lets it.
type held struct {
	asked  chan []string
	answer chan error
}

func newHeld() *held { return &held{make(chan []string, 100), make(chan error)} }

func (h *held) ask(ctx context.Context, entities []string) ([][]store.Blocker, error) {
	h.asked <- slices.Clone(entities)
	select {
	case err := <-h.answer:
		found := make([][]store.Blocker, len(entities))
		for i, entity := range entities {
			found[i] = []store.Blocker{{Table: entity}}
		}
		return found, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type answered struct {
	entity   string
	blockers []store.Blocker
	err      error
}

// Checks that come while it is asking gather for the next question, each gets
// its own answer, and no question is asked for more than its share.
func TestGateBatcherGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		d := &gateBatcher{ask: h.ask}
		got := make(chan answered, 200)
		check := func(entity string) {
			go func() {
				blockers, err := d.check(t.Context(), entity)
				got <- answered{entity, blockers, err}
			}()
			synctest.Wait()
		}
		for i := range maxRound + 2 {
			check(fmt.Sprint("e", i))
		}
		if len(h.asked) != 1 {
			t.Fatalf("%d questions are under way, want one", len(h.asked))
		}
		for range 3 {
			h.answer <- nil
			synctest.Wait()
		}
		var sizes []int
		for range 3 {
			sizes = append(sizes, len(<-h.asked))
		}
		if !slices.Equal(sizes, []int{1, maxRound, 1}) {
			t.Errorf("the questions were for %v", sizes)
		}
		for range maxRound + 2 {
			if a := <-got; a.err != nil || len(a.blockers) != 1 || a.blockers[0].Table != a.entity {
				t.Errorf("%+v", a)
			}
		}
		if d.asking || len(d.rounds) != 0 {
			t.Errorf("it is asking: %v, and %d rounds are left", d.asking, len(d.rounds))
		}
	})
}

// Who gives up is not waited for, does not end the question of the others, and is
// the end of a question that was theirs alone. A failure is everybody's.
func TestGateBatcherLeaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		d := &gateBatcher{ask: h.ask}
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 10)
		check := func(ctx context.Context, entity string) {
			go func() { _, err := d.check(ctx, entity); got <- err }()
			synctest.Wait()
		}
		check(ctx, "alone") // in its question
		check(ctx, "leaves")
		check(t.Context(), "stays")
		cancel()
		for range 2 {
			if err := <-got; !errors.Is(err, context.Canceled) {
				t.Errorf("who has left got %v", err)
			}
		}
		synctest.Wait() // their questions have ended, and the next is asked
		down := errors.New("the database is down")
		h.answer <- down
		if err := <-got; !errors.Is(err, down) {
			t.Errorf("who has stayed got %v", err)
		}
		synctest.Wait()
		if d.asking {
			t.Error("it is asking still")
		}
	})
}

// A question that is stuck, as on a connection that leads nowhere, keeps others waiting
// for a moment only: the next is asked beside it. A database that answers nobody is
// asked a few at a time.
func TestGateBatcherPassesWhatIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var asked, under, most atomic.Int64
		d := &gateBatcher{ask: func(ctx context.Context, entities []string) ([][]store.Blocker, error) {
			asked.Add(1)
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			if entities[0] == "stuck" {
				select {
				case <-free:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return make([][]store.Blocker, len(entities)), nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		check := func(entity string) error { _, err := d.check(ctx, entity); return err }
		begun := time.Now()
		go func() { _ = check("stuck") }()
		synctest.Wait()
		for range 3 {
			if err := check("other"); err != nil || time.Since(begun) > stuckAfter {
				t.Errorf("behind a question that is stuck: %v after %v", err, time.Since(begun))
			}
		}
		var all sync.WaitGroup
		for range 3 * maxStuck {
			all.Go(func() { _ = check("stuck") })
			time.Sleep(stuckAfter)
		}
		if n := most.Load(); n != maxStuck+1 {
			t.Errorf("%d questions were under way at a time, want %d", n, maxStuck+1)
		}
		close(free)
		all.Wait()
		synctest.Wait()
		before := asked.Load()
		if err := check("other"); err != nil || asked.Load() != before+1 || len(d.rounds) != 0 || d.asking || d.stuck != 0 {
			t.Errorf("afterwards: %v, %+v", err, d)
		}
	})
}

// A database that never answers is waited for so long and no longer, by who asks alone
// and by who waits for the next question.
func TestGateBatcherEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		d := &gateBatcher{ask: h.ask}
		begun, got := time.Now(), make(chan error, 2)
		for _, entity := range []string{"alone", "next"} {
			go func() { _, err := d.check(t.Context(), entity); got <- err }()
			synctest.Wait()
		}
		for range 2 {
			if err := <-got; !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != maxAsking {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		}
	})
}

// A check that begins after a failure was acknowledged sees it, however many ask at
// the same time.
func TestGateBatcherRemembersNothing(t *testing.T) {
	t.Parallel()
	var reported atomic.Int64 // every failure blocks for good
	d := &gateBatcher{ask: func(_ context.Context, entities []string) ([][]store.Blocker, error) {
		n := reported.Load()
		found := make([][]store.Blocker, len(entities))
		for i := range found {
			found[i] = []store.Blocker{{ID: recoup.ID{15: byte(n), 14: byte(n >> 8)}}}
		}
		return found, nil
	}}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				acknowledged := reported.Add(1)
				found, err := d.check(t.Context(), "e")
				if err != nil || int64(found[0].ID[15])|int64(found[0].ID[14])<<8 < acknowledged {
					t.Errorf("the gate shows %+v, %v after failure %d", found, err, acknowledged)
					return
				}
			}
		})
	}
	all.Wait()
}
