package notify_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestHealth wants it known since when a channel fails, why, and what waits for it; and
// that a message that tries it, once accepted, is the end of that.
func TestHealth(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		if c := state(w.d, "hook"); c.State != wire.ChannelUp || c.Kind != "webhook" || !c.LastSuccessAt.IsZero() {
			t.Errorf("at first it is %+v", c)
		}
		w.hook.now(status(http.StatusBadGateway))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		first := w.Now()
		for i := range 3 {
			w.run()
			c := state(w.d, "hook")
			want := wire.ChannelRetrying
			if i == 2 {
				want = wire.ChannelFailing
			}
			if c.State != want || c.Failures != i+1 || !c.FailingSince.Equal(first) || !c.LastFailureAt.Equal(w.Now()) || c.LastFailure != "answered with status 502" || c.Undelivered != 1 {
				t.Errorf("after %d failures since %v it is %+v", i+1, first, c)
			}
			w.WaitUntil(w.pending(1)[0].DueAt)
		}
		w.hook.now(nil)
		if err := w.d.Test(t.Context(), "hook", "ada", recoup.ID{9}); err != nil {
			t.Fatal(err)
		}
		if c := state(w.d, "hook"); c.State != wire.ChannelUp || !c.FailingSince.IsZero() || c.LastFailure == "" || !c.LastSuccessAt.Equal(w.Now()) || c.Undelivered != 1 {
			t.Errorf("once a test is accepted it is %+v", c)
		}
		w.run()
		if c := state(w.d, "hook"); c.Undelivered != 0 || c.Sent != 1 {
			t.Errorf("in the end it is %+v", c)
		}
	})
}

// TestDeliveredElsewhere wants a notice that another node has delivered no longer counted
// as undelivered.
func TestDeliveredElsewhere(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(status(http.StatusBadGateway))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		w.run()
		w.hook.now(nil)
		w.WaitUntil(w.pending(1)[0].DueAt)
		other := w.dispatcher(db)
		if err := other.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.Wait()
		w.pending(0)
		if c := state(w.d, "hook"); c.Undelivered != 1 {
			t.Errorf("nobody knows yet, and it is %+v", c)
		}
		w.Wait(5 * time.Minute)
		if c := state(w.d, "hook"); c.Undelivered != 0 {
			t.Errorf("it was delivered, and is %+v", c)
		}
	})
}
