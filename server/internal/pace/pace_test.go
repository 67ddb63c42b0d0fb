package pace_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup/server/internal/pace"
)

// scene is a pace in a bubble of its own time, on a database that the test makes up.
type scene struct {
	*testing.T
	*pace.Pace
	mu        sync.Mutex // of the fields that a look reads
	found     pace.Look
	err       error
	dueAt     time.Duration // zero: nothing is due
	looks     atomic.Int64
	announced atomic.Int64
	began     time.Time
}

func run(t *testing.T, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, began: time.Now()}
		p, err := pace.New(pace.Options{Look: s.look, Elapsed: s.now, Announce: func() { s.announced.Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		s.Pace = p
		ctx, cancel := context.WithCancel(t.Context())
		go p.Run(ctx)
		test(s)
		cancel()
		synctest.Wait()
	})
}

func (s *scene) now() time.Duration { return time.Since(s.began) }

func (s *scene) look(context.Context) (pace.Look, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks.Add(1)
	found := s.found
	if s.dueAt > 0 {
		found.Pending, found.Next = true, s.dueAt-s.now()
	}
	return found, s.err
}

// change changes what the next look finds.
func (s *scene) change(to func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to()
}

// until waits until a time since the beginning.
func (s *scene) until(at time.Duration) {
	time.Sleep(at - s.now())
	synctest.Wait()
}

func (s *scene) want(asleep bool) {
	s.Helper()
	if s.Asleep() != asleep {
		s.Fatalf("at %v asleep is %t", s.now(), !asleep)
	}
}

// Five minutes after the last request a node is asleep, and looks twice a minute.
func TestFallsAsleep(t *testing.T) {
	t.Parallel()
	run(t, func(s *scene) {
		s.until(2 * time.Minute)
		end := s.Begin()
		s.until(10 * time.Minute)
		s.want(false) // the request takes eight minutes
		end()
		s.until(15*time.Minute - time.Second)
		s.want(false)
		s.until(15 * time.Minute)
		s.want(true)
		before := s.looks.Load()
		s.until(75 * time.Minute)
		if n := s.looks.Load() - before; n != 120 {
			t.Errorf("it looks %d times in an hour", n)
		}
		s.want(true)
	})
}

// What is due wakes the node at its time, between two looks, and the node goes back to
// sleep when it is done.
func TestWakesForDeadline(t *testing.T) {
	t.Parallel()
	run(t, func(s *scene) {
		due := time.Hour + 7*time.Second
		s.change(func() { s.dueAt = due })
		s.until(due - time.Millisecond)
		s.want(true)
		s.until(due)
		s.want(false)
		s.until(due + 10*time.Minute)
		s.want(false) // it is due still
		s.change(func() { s.dueAt = 0 })
		s.until(s.now() + time.Minute)
		s.want(true)
	})
}

// A notification wakes the node at once, also one that comes while it looks.
func TestWakesWhenNotified(t *testing.T) {
	t.Parallel()
	run(t, func(s *scene) {
		s.until(10 * time.Minute)
		woken := make(chan error, 1)
		go func() { woken <- s.Wait(s.Context()) }()
		synctest.Wait()
		s.want(true)
		s.Due()
		if err := <-woken; err != nil || s.now() != 10*time.Minute {
			t.Errorf("it woke after %v: %v", s.now(), err)
		}
		s.until(10*time.Minute + pace.DefaultLinger)
		s.want(true)
		s.Active()
		s.until(15 * time.Minute)
		s.want(false)
	})
}

// A look that fails wakes the node, whose loops find out why; so it is awake as long as its
// database is away.
func TestFailedLookWakes(t *testing.T) {
	t.Parallel()
	run(t, func(s *scene) {
		s.until(10 * time.Minute)
		s.want(true)
		s.change(func() { s.err = errors.New("away") })
		s.until(11 * time.Minute)
		s.want(false)
		s.until(20 * time.Minute)
		s.want(false)
		s.change(func() { s.err = nil })
		s.until(21 * time.Minute)
		s.want(true)
	})
}

// Where work comes without a notification the node looks every second.
func TestLooksSoonWhereNobodyNotifies(t *testing.T) {
	t.Parallel()
	run(t, func(s *scene) {
		s.change(func() { s.found.Silent = true })
		s.until(10 * time.Minute)
		before := s.looks.Load()
		s.until(11 * time.Minute)
		if n := s.looks.Load() - before; n != 60 {
			t.Errorf("it looks %d times in a minute", n)
		}
	})
}

// Other nodes are told of requests, once a minute however many there are.
func TestAnnouncesRequests(t *testing.T) {
	t.Parallel()
	run(t, func(s *scene) {
		for range 600 {
			s.Begin()()
			s.until(s.now() + time.Second)
		}
		if n := s.announced.Load(); n != 10 {
			t.Errorf("in ten minutes of requests it was announced %d times", n)
		}
		s.until(30 * time.Minute)
		s.want(true)
		s.Begin()()
		if s.want(false); s.announced.Load() != 11 {
			t.Error("a request after a rest is not announced")
		}
	})
}

// A node without a pace never sleeps.
func TestNilPaceIsAwake(t *testing.T) {
	t.Parallel()
	var p *pace.Pace
	p.Begin()()
	p.Active()
	p.Due()
	p.LookAgain()
	p.Run(t.Context())
	if p.Asleep() || p.Wait(t.Context()) != nil {
		t.Error("it sleeps")
	}
}
