package notify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// few is a store that hands out few notices at a time, as one does while others claim.
type few struct {
	notify.Store
	limit int
}

func (f few) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, _ int) ([]wire.Notice, error) {
	return f.Store.ClaimNotices(ctx, now, lease, f.limit)
}

var errDied = errors.New("died")

// dying is a store that is away when it is to note what became of deliveries.
func dying(s notify.Store) notify.Store {
	return &faulty{Store: s, finish: func(context.Context, time.Time, []store.Delivery) (int, error) { return 0, errDied }}
}

// send lets a dispatcher take what is due and waits until it has dealt with it.
func (w *world) send(d *notify.Dispatcher) {
	w.T.Helper()
	if err := d.Run(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	d.Wait()
}

// arrivals returns the notices that came, each with the id of its message, and what is
// wrong: one that came under two ids, or an id that came with two texts.
func arrivals(receivers ...*receiver) (came map[string]string, wrong []string) {
	came, said := map[string]string{}, map[string]string{}
	for _, r := range receivers {
		texts := r.all()
		for i, m := range r.bodies() {
			id, text := fmt.Sprint(m["id"]), string(texts[i].body)
			if key := texts[i].header.Get("Idempotency-Key"); key != id {
				wrong = append(wrong, fmt.Sprintf("the message %s has the key %s", id, key))
			}
			if before, again := said[id]; again && before != text {
				wrong = append(wrong, fmt.Sprintf("the message %s came as\n%s\nand as\n%s", id, before, text))
			}
			said[id] = text
			for _, item := range m["items"].([]any) {
				notice := fmt.Sprint(item.(map[string]any)["notice_id"])
				if before, again := came[notice]; again && before != id {
					wrong = append(wrong, fmt.Sprintf("the notice %s came in the message %s and in the message %s", notice, before, id))
				}
				came[notice] = id
			}
		}
	}
	return came, wrong
}

// arrived says how many notices must have come, each under one id.
func (w *world) arrived(want int, receivers ...*receiver) {
	w.T.Helper()
	came, wrong := arrivals(receivers...)
	for _, line := range wrong {
		w.T.Error(line)
	}
	if len(came) != want {
		w.T.Errorf("%d notices came of %d", len(came), want)
	}
}

// A message whose node died when it had sent it comes again as it was, also if several
// nodes take up what the dead one had, each a part of it, and new notices are due.
func TestMessageIsTakenOverWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		two := []wire.Notice{notice(wire.NoticeEscalated, "dol-filings-lead", ""), notice(wire.NoticeEscalated, "dol-filings-lead", "")}
		w.enqueue(two...)
		w.send(w.dispatcher(dying(db)))
		w.got(w.hook, 1)
		w.enqueue(two...)
		w.Wait(3 * time.Minute)
		for range 4 {
			w.send(w.dispatcher(few{db, 1}))
		}
		w.pending(0)
		w.arrived(4, w.hook)
		if n := w.got(w.hook, 4)[3]["count"]; n != 2.0 { // the new ones were due before
			t.Errorf("the message came again with %v notices", n)
		}
	})
}

// What a message says stays, whatever becomes of the errors that it is about.
func TestMessageSaysTheSameAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.reroute("  default: [{channel: hook}]\n")
		w.hook.now(status(http.StatusServiceUnavailable))
		one := w.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
		two := w.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
		for _, id := range []recoup.ID{one.ID, two.ID} {
			w.Apply(id, lifecycle.Park{By: "ada", Reason: "look"})
			w.Apply(id, lifecycle.Escalate{By: "ada", Reason: "look"})
		}
		w.run()
		first := len(w.hook.all())
		w.Apply(one.ID, lifecycle.Escalate{By: "ada", Reason: "look again"})
		w.Archive(two.ID)
		w.hook.now(nil)
		for range 5 {
			w.Wait(time.Hour)
			w.run()
		}
		w.pending(0)
		w.arrived(5, w.hook)
		if first == 0 || len(w.hook.all()) < 2*first {
			t.Errorf("%d messages came, and then %d", first, len(w.hook.all())-first)
		}
	})
}

// Notices of one message are given up together, once the youngest is a day old.
func TestMessageIsGivenUpWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(status(http.StatusServiceUnavailable))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		w.Wait(12 * time.Hour)
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		start := w.Now()
		w.exhaust()
		if age := w.Now().Sub(start); age < 24*time.Hour || age > 25*time.Hour {
			t.Errorf("they were given up %v after the younger arose", age)
		}
		w.arrived(2, w.hook)
		if s := state(w.d, "hook"); s.GivenUp != 2 || s.Undelivered != 0 {
			t.Errorf("the channel is %+v", s)
		}
	})
}

// A message that may have been sent stays with its channel for as long as a route leads
// there; then it takes the new route, and the log if there is none. No new route or
// digest makes another message of it.
func TestMessageAndRoutes(t *testing.T) {
	for name, row := range map[string]struct {
		routes       string
		hook, second int // messages that come then
	}{
		"one more channel": {"  default: [{channel: second}, {channel: hook}]\n", 1, 0},
		"another channel":  {"  default: [{channel: second}]\n", 0, 1},
		"two others":       {"  default: [{channel: second}, {channel: chat}]\n", 0, 1},
		"a digest":         {"  default: [{channel: hook}]\n  digests: {ESCALATED: 24h}\n", 1, 0},
		"no such channel":  {"  default: [{channel: carrier-pigeon}]\n", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, db database) {
				w := newWorld(t, db)
				w.reroute("  default: [{channel: hook}]\n")
				w.hook.next(status(http.StatusServiceUnavailable))
				w.enqueue(notice(wire.NoticeEscalated, "somebody", ""), notice(wire.NoticeEscalated, "somebody", ""))
				w.run()
				w.got(w.hook, 1)
				w.reroute(row.routes)
				w.Wait(time.Minute)
				w.run()
				w.pending(0)
				w.got(w.hook, 1+row.hook)
				w.got(w.second, row.second)
				w.got(w.chat, 0)
				w.arrived(2, w.hook, w.second)
			})
		})
	}
}

// reroute puts another notifications section into force.
func (w *world) reroute(section string) {
	w.T.Helper()
	p, err := policyWith("notifications:\n" + section)
	if err != nil {
		w.T.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.policy = p
}

// inForce is the policy in force.
func (w *world) inForce() *policy.Policy {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policy
}

// Messages of one kind to one team that failed one after the other, although they had
// arrived, or whose node died when it had sent them again, come again as they were, also
// where all of them are due by then. What was never sent comes together.
func TestMessagesStayApart(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(status(http.StatusBadGateway))
		for range 8 { // the channel is left alone after the third
			w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""), notice(wire.NoticeEscalated, "dol-filings-lead", ""))
			w.run()
			w.Wait(time.Millisecond)
		}
		w.got(w.hook, 3)
		w.hook.now(nil)
		w.Wait(time.Hour)
		w.send(w.dispatcher(dying(db)))
		w.got(w.hook, 7)
		w.Wait(time.Hour)
		w.run()
		w.pending(0)
		w.got(w.hook, 11)
		w.arrived(16, w.hook)
	})
}

// A notice that could not be noted as passed on, and has another route by then, comes
// there alone: no copy of it is left behind.
func TestPassedOnWholly(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.reroute("  default: [{channel: hook}, {channel: second}]\n")
		w.enqueue(notice(wire.NoticeEscalated, "somebody", ""))
		if err := w.dispatcher(dying(db)).Run(t.Context()); !errors.Is(err, errDied) {
			t.Fatalf("got %v", err)
		}
		w.reroute("  default: [{channel: hook}]\n")
		w.Wait(3 * time.Minute)
		w.run()
		w.pending(0)
		w.got(w.hook, 1)
		w.got(w.second, 0)
	})
}
