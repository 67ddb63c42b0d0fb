package notify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const dol = "outreach.dol_errors"

// text returns what a Slack message says in its sections.
func text(m map[string]any) string { return fmt.Sprint(m["text"], m["blocks"]) }

// TestDigest wants parked errors in one notification, at the end of the quarter of
// an hour in which they were parked, and pages at once.
func TestDigest(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.WaitUntil(time.Date(2026, 2, 2, 9, 1, 0, 0, time.UTC))
		for i := range 30 {
			code := recoup.Code("NETWORK_TIMEOUT")
			if i%3 == 0 {
				code = "RATE_LIMIT_EXCEEDED"
			}
			w.Report(dol, fmt.Sprint("e", i), code, recoup.Critical)
			w.run()
		}
		w.got(w.chat, 0)
		w.pending(30)
		w.WaitUntil(time.Date(2026, 2, 2, 9, 14, 59, 0, time.UTC))
		w.run()
		w.got(w.chat, 0)
		w.WaitUntil(time.Date(2026, 2, 2, 9, 15, 0, 0, time.UTC))
		w.run()
		said := text(w.got(w.chat, 1)[0])
		for _, want := range []string{"30 errors parked", "20 × NETWORK_TIMEOUT in outreach.dol_errors", "10 × RATE_LIMIT_EXCEEDED", "ESCALATION_REQUIRED", "https://recoup.example.com/console/errors/"} {
			if !strings.Contains(said, want) {
				t.Errorf("nothing is said of %q: %s", want, said)
			}
		}
		w.pending(0)
		w.Report(dol, "late", "NETWORK_TIMEOUT", recoup.Critical)
		w.run()
		w.got(w.chat, 1)
		w.WaitUntil(time.Date(2026, 2, 2, 9, 30, 0, 0, time.UTC))
		w.run()
		w.got(w.chat, 2)
	})
}

// TestSeveralChannels wants a page in both channels of its team, each with a fate of
// its own.
func TestSeveralChannels(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.chat.now(status(http.StatusInternalServerError))
		e := w.Report(dol, "e1", "RUNTIME_BUG", recoup.Medium)
		w.run()
		w.got(w.pager, 1)
		w.got(w.chat, 1)
		event := pagerEvents(t, w.pager)[0]
		if event.Action != "trigger" || event.DedupKey != "recoup:PAGE:platform-team:outreach.dol_errors:RUNTIME_BUG" ||
			event.Links[0].Href != "https://recoup.example.com/console/errors/"+e.ID.String() {
			t.Errorf("the event is %+v", event)
		}
		w.pending(2) // the page for the chat, and the digest of what was parked
		w.chat.now(nil)
		w.Wait(time.Minute)
		w.run()
		w.got(w.chat, 2)
		w.got(w.pager, 1)
		if left := w.pending(1)[0]; left.Kind != wire.NoticeParked {
			t.Errorf("%+v is left", left)
		}
	})
}

// TestAlertEnds wants the end of an alert to resolve the incident that its
// beginning triggered.
func TestAlertEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		const line = `{"alert_id":"01900000-0000-7000-8000-00000000000%d","rule":"blocking-errors","severity":"CRITICAL","condition":"blocking_errors > 100","value":150,"since":"2026-02-02T08:00:00Z","notified":1}`
		one, two := fmt.Sprintf(line, 1), fmt.Sprintf(line, 2)
		w.enqueue(notice(wire.NoticeAlert, "platform-team", `{"page":true,"alerts":[`+one+`,`+two+`]}`))
		w.run()
		w.enqueue(notice(wire.NoticeAlertResolved, "platform-team", `{"page":true,"alerts":[`+one+`]}`))
		w.run()
		w.enqueue(notice(wire.NoticeAlert, "platform-team", `{"alerts":[`+one+`]}`)) // which wakes nobody
		w.run()
		var acts []string
		for _, e := range pagerEvents(t, w.pager) {
			acts = append(acts, e.Action+" "+e.DedupKey)
		}
		const key = "recoup:alert:01900000-0000-7000-8000-00000000000"
		if want := []string{"trigger " + key + "1", "trigger " + key + "2", "resolve " + key + "1"}; !slices.Equal(acts, want) {
			t.Errorf("got %q, want %q", acts, want)
		}
		if said := text(w.got(w.chat, 3)[0]); !strings.Contains(said, "2 alerts firing") || !strings.Contains(said, "blocking_errors &gt; 100, now 150") {
			t.Errorf("the chat says %s", said)
		}
		w.pending(0)
	})
}

// TestChannelDown wants a channel that fails to be tried again with growing waits
// and to get everything in the end, while the others notice nothing of it.
func TestChannelDown(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(status(http.StatusBadGateway))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		var before time.Duration
		start := w.Now()
		for i := range 8 {
			w.enqueue(notice(wire.NoticeEscalated, "dol-filings-team", ""))
			w.run()
			w.got(w.chat, i+1)
			n := w.pending(1)[0]
			if wait := n.DueAt.Sub(w.Now()); wait < before || wait > 15*time.Minute {
				t.Errorf("after %d tries it waits for %v, before it was %v", i+1, wait, before)
			} else {
				before = wait
			}
			w.WaitUntil(n.DueAt)
		}
		w.got(w.hook, 8)
		w.hook.now(nil)
		w.run()
		first := w.hook.all()[0]
		for _, again := range w.hook.all() {
			if again.header.Get("Idempotency-Key") != first.header.Get("Idempotency-Key") || string(again.body) != string(first.body) {
				t.Error("the same message has another id or another text")
			}
		}
		w.pending(0)
		if w.Now().Sub(start) < time.Minute {
			t.Errorf("it was tried 9 times within %v", w.Now().Sub(start))
		}
	})
}

// TestSlowChannel wants other channels to deliver while one hangs.
func TestSlowChannel(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		release := make(chan struct{})
		w.hook.now(func(http.ResponseWriter, *http.Request) { <-release })
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		if err := w.d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-w.hook.signal
		for range 3 {
			w.enqueue(notice(wire.NoticeEscalated, "dol-filings-team", ""))
			if err := w.d.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-w.chat.signal
		}
		close(release)
		w.d.Wait()
		w.pending(0)
	})
}

// TestCircuit wants a channel that is away to be left alone: a thousand notices do
// not each wait for it.
func TestCircuit(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(status(http.StatusInternalServerError))
		var list []wire.Notice
		for range 1500 {
			list = append(list, notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		}
		w.enqueue(list...)
		w.run()
		w.got(w.hook, 3)
		if s := state(w.d, "hook"); s.State != wire.ChannelFailing || s.Until.IsZero() || s.Sent != 0 || s.Failed != 300 || s.Undelivered != 1500 {
			t.Errorf("the channel is %+v", s)
		}
		w.hook.now(nil)
		w.Wait(time.Minute)
		w.run()
		if n := len(w.hook.all()); n > 3+16 {
			t.Errorf("%d requests for 1500 notices", n)
		}
		w.pending(0)
		if s := state(w.d, "hook"); s.State != wire.ChannelUp || s.Sent != 1500 || s.Queued != 0 || s.GivenUp != 0 || s.Undelivered != 0 {
			t.Errorf("the channel is %+v", s)
		}
	})
}

// state returns the state of a channel.
func state(d *notify.Dispatcher, name string) wire.Channel {
	for _, c := range d.Channels() {
		if c.Name == name {
			return c
		}
	}
	return wire.Channel{}
}

// TestRetryAfter wants a channel that asks for patience to be left alone for so long.
func TestRetryAfter(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.chat.next(status(http.StatusTooManyRequests, "Retry-After", "120"))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-team", ""))
		start := w.Now()
		w.run()
		w.enqueue(notice(wire.NoticeExpiring, "dol-filings-team", ""))
		w.run()
		w.got(w.chat, 1)
		w.WaitUntil(start.Add(119 * time.Second))
		w.run()
		w.got(w.chat, 1)
		w.WaitUntil(start.Add(140 * time.Second))
		w.run()
		w.got(w.chat, 3)
		w.pending(0)
	})
}

// TestGivenUp wants a notice to be given up when it can never be delivered, or was
// tried for a day; not because nobody tried.
func TestGivenUp(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.chat.next(status(http.StatusBadRequest))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-team", ""))
		w.run()
		w.pending(0)
		if s := state(w.d, "chat"); s.GivenUp != 1 {
			t.Errorf("the channel is %+v", s)
		}
		w.hook.now(status(http.StatusServiceUnavailable))
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		w.Wait(48 * time.Hour) // nobody runs
		if tries := w.exhaust(); tries != 10 {
			t.Errorf("an old notice was given up after %d tries, want 10", tries)
		}
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		start := w.Now()
		w.exhaust()
		if age := w.Now().Sub(start); age < 24*time.Hour || age > 25*time.Hour {
			t.Errorf("a new notice was given up after %v", age)
		}
		if s := state(w.d, "hook"); s.GivenUp != 2 || s.Sent != 0 {
			t.Errorf("the channel is %+v", s)
		}
	})
}

// exhaust runs whenever something is due until nothing waits any more, and returns
// how often that was.
func (w *world) exhaust() int {
	w.T.Helper()
	for tries := 1; tries < 1000; tries++ {
		w.run()
		list, err := w.db.PendingNotices(w.T.Context(), 1)
		if err != nil {
			w.T.Fatal(err)
		}
		if len(list) == 0 {
			return tries
		}
		w.WaitUntil(list[0].DueAt)
	}
	w.T.Fatal("it is never given up")
	return 0
}

// TestCrash wants what was sent and not noted to be sent again with the same id,
// and what was not noted as passed on to be passed on later, once.
func TestCrash(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		died := errors.New("died")
		broken := &faulty{Store: db, finish: func(context.Context, time.Time, []store.Delivery) (int, error) { return 0, died }}
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""), notice(wire.NoticeEscalated, "dol-filings-lead", ""),
			notice(wire.NoticePaged, "platform-team", ""))
		dying := w.dispatcher(broken)
		if err := dying.Run(t.Context()); !errors.Is(err, died) {
			t.Fatalf("got %v", err)
		}
		dying.Wait()
		w.got(w.hook, 1)
		w.run() // all is leased
		w.got(w.hook, 1)
		w.got(w.pager, 0)
		w.Wait(2 * time.Minute)
		w.run()
		list := w.got(w.hook, 2)
		if list[0]["id"] != list[1]["id"] || list[0]["id"] == "" || fmt.Sprint(list[0]["items"]) != fmt.Sprint(list[1]["items"]) {
			t.Errorf("sent %v\nand then %v", list[0], list[1])
		}
		w.got(w.pager, 1)
		w.got(w.chat, 1)
		w.pending(0)
	})
}

// TestResend wants a copy that was given up to be requeued for its own channel
// only: nobody is paged twice because a chat was away.
func TestResend(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.chat.next(status(http.StatusBadRequest))
		w.enqueue(notice(wire.NoticePaged, "platform-team", ""))
		w.run()
		w.got(w.pager, 1)
		w.got(w.chat, 1)
		w.pending(0)
		list, _, err := db.Notices(t.Context(), wire.NoticeFilter{State: wire.NoticeGivenUp}, sqldb.Page{})
		if err != nil || len(list) != 1 || list[0].LastError != "chat: answered with status 400" {
			t.Fatalf("given up are %+v, %v", list, err)
		}
		n, err := db.ResendNotices(t.Context(), []recoup.ID{list[0].ID}, store.Act{By: "ada", Reason: "it works again", At: w.Now()})
		if err != nil || n != 1 {
			t.Fatalf("%d were put in again, %v", n, err)
		}
		w.run()
		w.got(w.chat, 2)
		w.got(w.pager, 1)
		w.pending(0)
	})
}

// TestStop wants a node that stops while it sends to leave the notice to others.
func TestStop(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.hook.now(hang)
		w.enqueue(notice(wire.NoticeEscalated, "dol-filings-lead", ""))
		ctx, stop := context.WithCancel(t.Context())
		if err := w.d.Run(ctx); err != nil {
			t.Fatal(err)
		}
		<-w.hook.signal
		stop()
		w.d.Wait()
		if n := w.pending(1)[0]; n.Attempts != 1 || n.DueAt.Sub(w.Now()) != 2*time.Minute {
			t.Errorf("it is left as %+v", n)
		}
		if s := state(w.d, "hook"); s.Failed != 0 || s.State != wire.ChannelUp {
			t.Errorf("a stop counts against the channel: %+v", s)
		}
		w.hook.now(nil)
		w.Wait(2 * time.Minute)
		w.run()
		if list := w.got(w.hook, 2); list[0]["id"] != list[1]["id"] {
			t.Errorf("sent with the ids %v and %v", list[0]["id"], list[1]["id"])
		}
	})
}

// TestManyNodes wants every notice to be sent once by nodes that run at once.
func TestManyNodes(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		var list []wire.Notice
		for i := range 600 {
			to := "dol-filings-lead"
			if i%2 == 1 {
				to = "platform-team"
			}
			list = append(list, notice(wire.NoticePaged, to, ""))
		}
		w.enqueue(list...)
		nodes := []*notify.Dispatcher{w.d, w.dispatcher(db), w.dispatcher(db)}
		var group sync.WaitGroup
		for range 3 {
			for _, d := range nodes {
				group.Go(func() {
					if err := d.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			for _, d := range nodes {
				d.Wait()
			}
		}
		w.pending(0)
		seen := map[string]int{}
		for _, m := range w.hook.bodies() {
			for _, it := range m["items"].([]any) {
				seen[it.(map[string]any)["notice_id"].(string)]++
			}
		}
		if len(seen) != 300 {
			t.Errorf("%d notices went to the lead, want 300", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		paged := map[string]int{}
		for _, e := range pagerEvents(t, w.pager) {
			paged[e.DedupKey]++
		}
		if len(paged) != 300 {
			t.Errorf("%d incidents, want 300", len(paged))
		}
	})
}

// TestRate wants a second between messages to Slack.
func TestRate(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		for _, kind := range []wire.NoticeKind{wire.NoticeEscalated, wire.NoticeExpiring, wire.NoticeUnblocked, wire.NoticeReviewMissed} {
			w.enqueue(notice(kind, "dol-filings-team", ""))
		}
		start := w.Now()
		w.run()
		w.got(w.chat, 4)
		if took := w.Now().Sub(start); took < 3*time.Second {
			t.Errorf("four messages within %v", took)
		}
		for _, d := range w.waits {
			if d > time.Second {
				t.Errorf("it waited for %v", d)
			}
		}
	})
}

// TestMissingChannel wants what goes to a channel that the node does not have in
// the log, and one warning.
func TestMissingChannel(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		if got := state(w.d, "carrier-pigeon"); got.State != wire.ChannelMissing || !got.Down() {
			t.Errorf("it is %+v", got)
		}
		for range 3 {
			w.enqueue(notice(wire.NoticeEscalated, "company-target-team", ""))
			w.run()
		}
		w.pending(0)
		if n := strings.Count(w.log.String(), "a channel that is not configured on this node"); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
		if n := strings.Count(w.log.String(), "notice: 1 error escalated to you"); n != 3 {
			t.Errorf("%d notices in the log, want 3: %s", n, w.log.String())
		}
	})
}

// TestChannelTest sends through each channel, by hand.
func TestChannelTest(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		for _, name := range []string{"chat", "pager", "hook", "mail", "log"} {
			if err := w.d.Test(t.Context(), name, "ada", recoup.ID{9}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := w.d.Test(t.Context(), "carrier-pigeon", "ada", recoup.ID{9}); !errors.Is(err, sqldb.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		w.hook.now(status(http.StatusForbidden))
		wantFailure(t, w.d.Test(t.Context(), "hook", "ada", recoup.ID{9}), "status 403", false, 0)
		events := pagerEvents(t, w.pager)
		if len(events) != 2 || events[0].Payload.Severity != "info" || events[1].Action != "resolve" || events[1].DedupKey != events[0].DedupKey {
			t.Errorf("the test leaves an incident behind: %+v", events)
		}
		if len(w.mail.received()) != 1 || !strings.Contains(w.log.String(), "this channel works") {
			t.Error("no mail, or nothing in the log")
		}
	})
}
