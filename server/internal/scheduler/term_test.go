package scheduler_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// jumpy is a node whose wall clock jumps; the monotonic one goes on with the world.
func (w *world) jumpy(name string, s scheduler.Store, jump *time.Duration, jobs ...scheduler.Job) *scheduler.Clock {
	w.Helper()
	start := w.Now()
	c, err := scheduler.New(scheduler.Options{
		Store: s, Node: name, NotifyTo: func() string { return "platform-team" }, Jobs: jobs,
		Now: func() time.Time { return w.Now().Add(*jump) }, Since: func() time.Duration { return w.Now().Sub(start) },
	})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// Leadership survives jumps of the nodes' clocks, by five minutes and more, without
// a change: terms are judged by the store's clock.
func TestLeadershipSurvivesJumps(t *testing.T) {
	everywhere(t, func(w *world) {
		var jumps [2]time.Duration
		n := 0
		a, b := w.jumpy("a", w.DB, &jumps[0], counting(&n)), w.jumpy("b", w.DB, &jumps[1], counting(&n))
		r := rand.New(rand.NewPCG(11, 1))
		for range 40 {
			jumps[r.IntN(2)] = time.Duration(r.IntN(1200)-600) * time.Second
			w.Wait(time.Second)
			w.tick(a)
			w.tick(b)
			if !a.Leads() || b.Leads() || a.Term().Number != 1 {
				w.Fatalf("a leads: %v, b leads: %v, in term %d", a.Leads(), b.Leads(), a.Term().Number)
			}
		}
	})
}

// away is a store that a node may not reach, or hears from late.
type away struct {
	scheduler.Store
	cut  bool
	late func()
}

func (s *away) Lead(ctx context.Context, b store.Bid) (store.Term, bool, error) {
	if s.cut {
		return store.Term{}, false, errors.New("no way to the database")
	}
	term, held, err := s.Store.Lead(ctx, b)
	if s.late != nil {
		s.late()
	}
	return term, held, err
}

// A leader that does not reach the database holds its leadership no longer than its
// term, and is over before another's begins; one that hears too late that it leads
// does not.
func TestPartitionedLeaderStopsInTime(t *testing.T) {
	everywhere(t, func(w *world) {
		var still time.Duration
		ran := 0
		way := &away{Store: w.DB}
		a := w.jumpy("a", way, &still, counting(&ran))
		w.tick(a)
		if !a.Leads() || ran != 1 {
			w.Fatalf("a leads: %v, and ran %d times", a.Leads(), ran)
		}
		still = -time.Hour // by its wall clock the term would last
		w.Wait(scheduler.DefaultTenure - time.Microsecond)
		if !a.Leads() {
			w.Error("its term ended early")
		}
		w.Wait(time.Microsecond)
		if a.Leads() {
			w.Error("it leads beyond its term")
		}
		way.late = func() { w.Wait(2 * scheduler.DefaultTenure) }
		if w.tick(a); a.Leads() || ran != 1 {
			w.Errorf("after a late answer it leads: %v, and ran %d times", a.Leads(), ran)
		}
		way.late = nil
		if w.tick(a); !a.Leads() {
			w.Error("it does not lead again")
		}
		w.Wait(scheduler.DefaultTenure / 2) // it renews, and its term would last
		way.cut = true
		if err := a.Tick(w.Context()); err == nil || a.Leads() {
			w.Errorf("cut off it leads: %v, %v", a.Leads(), err)
		}
	})
}
