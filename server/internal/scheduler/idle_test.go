package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/scheduler"
)

func (w *world) idle(c *scheduler.Clock) {
	w.Helper()
	_, err := c.Idle(w.Context())
	w.Must(err)
}

// While all nodes are idle none leads, so the next to wake does so at once: also where the
// last leader has died meanwhile.
func TestIdleNodesHandOver(t *testing.T) {
	everywhere(t, func(w *world) {
		var ranA, ranB int
		a, b := w.node("a", counting(&ranA)), w.node("b", counting(&ranB))
		w.tick(a)
		w.tick(b)
		w.idle(b)
		if w.idle(a); a.Leads() || ranA != 1 {
			w.Fatalf("idle, a leads: %t", a.Leads())
		}
		for _, c := range []*scheduler.Clock{a, b} {
			if leader, err := c.Leader(w.Context()); leader != c.Node || err != nil {
				w.Errorf("%s takes %q for the leader: %v", c.Node, leader, err)
			}
		}
		w.Wait(time.Second) // a dies
		if w.tick(b); !b.Leads() || ranB != 1 {
			w.Errorf("b leads: %t, and ran %d times", b.Leads(), ranB)
		}
		if leader, err := a.Leader(w.Context()); leader != "b" || err != nil {
			w.Errorf("the leader is %q: %v", leader, err)
		}
	})
}

// An idle node runs its jobs seldom, each as seldom as it may, and says nothing of them
// meanwhile. Between that it asks the store for nothing.
func TestIdleJobs(t *testing.T) {
	everywhere(t, func(w *world) {
		var often, seldom int
		alerts, sweep := counting(&often), counting(&seldom)
		alerts.Name, alerts.Idle = "alerts", scheduler.DefaultIdle
		c := w.node("a", alerts, sweep)
		w.tick(c)
		for range 3 * 3600 / 10 {
			w.Wait(10 * time.Second)
			w.idle(c)
			if c.Leads() {
				w.Fatal("it stays the leader")
			}
		}
		if often != 1+17 || seldom != 1+2 {
			w.Errorf("in three hours alerts ran %d times and x %d", often, seldom)
		}
		if w.tick(c); often != 19 || seldom != 4 {
			w.Errorf("awake again alerts ran %d times and x %d", often, seldom)
		}
	})
}

// A job that fails after an idle time is not late at once: it has not gone without success
// for as long as nobody ran it.
func TestIdleTimeIsNotLateness(t *testing.T) {
	everywhere(t, func(w *world) {
		var fails error
		job := fake("x", func(context.Context, scheduler.Run) (int, bool, error) { return 0, false, fails })
		c := w.node("a", job)
		w.tick(c)
		w.idle(c)
		w.Wait(50 * time.Minute)
		fails = errors.New("no")
		w.tick(c)
		if got := w.notices(); len(got) != 0 || w.known("x").Error == "" {
			w.Fatalf("notified %v of %+v", got, w.known("x"))
		}
		w.Wait(job.Late + time.Minute)
		w.tick(c)
		if got := w.notices(); len(got) != 1 {
			w.Errorf("a job that fails for longer than it may: notified %v", got)
		}
	})
}
