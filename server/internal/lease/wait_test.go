package lease_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// However many polls wait for the same thing, one of them looks: thousands cost
// the database no more than one does. Each that finds something makes room for
// the next, which looks at once.
func TestPollsLookOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const polls, things = 1000, 7
		var looks, due, found atomic.Int64
		q := lease.NewWaiters(store.WakeErrors)
		var all sync.WaitGroup
		for range polls {
			all.Go(func() {
				err := q.Await(t.Context(), lease.Wait{
					For: "dol", Wait: time.Minute,
					Look: func() (bool, error) {
						looks.Add(1)
						if due.Add(-1) >= 0 {
							found.Add(1)
							return true, nil
						}
						due.Add(1)
						return false, nil
					},
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		looks.Store(0)
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if n := looks.Load(); n != 10 {
			t.Errorf("in ten seconds %d polls looked %d times", polls, n)
		}
		looks.Store(0)
		due.Store(things)
		q.Wake()
		synctest.Wait()
		if found.Load() != things || looks.Load() != things+1 {
			t.Errorf("of %d things %d were found, in %d looks", things, found.Load(), looks.Load())
		}
		q.StopWaiting()
		all.Wait()
	})
}

// Polls for different things do not wait for each other, but only a few look at
// the same time; whoever has gone does not look.
func TestPollsLookAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looking, most atomic.Int64
		q, release := lease.NewWaiters(store.WakeErrors), make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_ = q.Await(ctx, lease.Wait{For: string(rune('a' + i)), Look: func() (bool, error) {
					most.Store(max(most.Load(), looking.Add(1)))
					<-release
					looking.Add(-1)
					return true, nil
				}})
			})
		}
		synctest.Wait()
		if n := looking.Load(); n < 2 || n > 9 {
			t.Errorf("%d look at once", n)
		}
		leave()
		synctest.Wait()
		close(release)
		all.Wait()
		if most.Load() > 9 {
			t.Errorf("%d looked at once", most.Load())
		}
	})
}
