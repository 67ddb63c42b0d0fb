package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Streams of one credential share its checks and end together, at once after a recheck and else
// at the next check. A credential that has ended is watched anew by the next stream.
func TestCredentials(t *testing.T) {
	t.Parallel()
	ended := errors.New("ended")
	for name, here := range map[string]bool{"here": true, "elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var c Credentials
				var over atomic.Bool
				var checks atomic.Int64
				check := func(context.Context) error {
					checks.Add(1)
					if over.Load() {
						return ended
					}
					return nil
				}
				first, leaveFirst := c.Watch(t.Context(), [32]byte{1}, check)
				second, leaveSecond := c.Watch(t.Context(), [32]byte{1}, nil)
				third, leaveThird := c.Watch(t.Context(), [32]byte{1}, nil)
				leaveThird()
				c.Recheck()
				synctest.Wait()
				if first.Err() != nil || second.Err() != nil || third.Err() == nil || checks.Load() != 1 {
					t.Fatalf("a valid credential: %v, %v, %v after %d checks", first.Err(), second.Err(), third.Err(), checks.Load())
				}
				start := time.Now()
				if over.Store(true); here {
					c.Recheck()
				}
				<-first.Done()
				<-second.Done()
				if late := time.Since(start); here && late != 0 || !here && late != CredentialPeriod {
					t.Errorf("ended after %s", late)
				}
				if !errors.Is(context.Cause(first), ended) || !errors.Is(context.Cause(second), ended) {
					t.Errorf("causes: %v, %v", context.Cause(first), context.Cause(second))
				}
				over.Store(false)
				checks.Store(0)
				again, leave := c.Watch(t.Context(), [32]byte{1}, check)
				leaveFirst()
				leaveSecond()
				time.Sleep(CredentialPeriod)
				synctest.Wait()
				if again.Err() != nil || checks.Load() != 1 {
					t.Errorf("a new stream: %v after %d checks", again.Err(), checks.Load())
				}
				leave()
				time.Sleep(10 * CredentialPeriod)
				if checks.Load() != 1 || len(c.watched) > 0 {
					t.Errorf("%d checks, %d watched after the last stream", checks.Load(), len(c.watched))
				}
			})
		})
	}
}
