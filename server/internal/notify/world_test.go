package notify_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

type database interface {
	node.Store
	conformance.Service
}

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(*testing.T, database)) {
	t.Helper()
	node.Everywhere(t, func(t *testing.T, db node.Store) { test(t, db.(database)) })
}

// routes is the notifications section of the tests' policy.
const routes = `notifications:
  default: [{channel: log}]
  teams:
    dol-filings-team: [{channel: chat}]
    dol-filings-lead: [{channel: hook}]
    platform-team: [{channel: pager, from: PAGE}, {channel: chat}]
    platform-lead: [{channel: mail}]
    company-target-team: [{channel: carrier-pigeon}]
  digests: {PARKED: 15m}
`

// world is a dispatcher with all its channels, before a store, under a clock that
// only the test turns.
type world struct {
	*testing.T
	*conformance.Driver
	db     database
	policy *policy.Policy
	d      *notify.Dispatcher
	chat   *receiver
	pager  *receiver
	hook   *receiver
	second *receiver // a webhook that only a test's own routes lead to
	mail   *mailServer
	log    *node.Log

	mu     sync.Mutex
	waits  []time.Duration
	random float64
}

func newWorld(t *testing.T, db database) *world {
	t.Helper()
	w := &world{T: t, Driver: conformance.NewDriver(t, db), db: db, random: 0.5, log: &node.Log{}}
	var err error
	if w.policy, err = policyWith(routes); err != nil {
		t.Fatal(err)
	}
	w.chat = newReceiver(t, http.StatusOK, checkSlack)
	w.pager = newReceiver(t, http.StatusAccepted, checkPager)
	w.hook = newReceiver(t, http.StatusOK, checkJSON)
	w.second = newReceiver(t, http.StatusOK, checkJSON)
	w.mail = newMailServer(t, false)
	w.d = w.dispatcher(db)
	return w
}

// policyWith is the default policy with another notifications section.
func policyWith(section string) (*policy.Policy, error) {
	text := string(policy.DefaultFile())
	from, to := strings.Index(text, "notifications:\n"), strings.Index(text, "# Retries inside a caller's request")
	return policy.Load("test.yaml", []byte(text[:from]+section+text[to:]), nil)
}

// dispatcher makes one, as another node would have, on a store that may fail.
func (w *world) dispatcher(s notify.Store) *notify.Dispatcher {
	w.T.Helper()
	d, err := notify.NewDispatcher(notify.Options{
		Store: s, Policy: w.inForce, URL: "https://recoup.example.com",
		Tools: notify.Tools{Now: w.Now, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Source: "node-1", Roots: w.mail.roots},
		Channels: []notify.Config{
			config("chat", notify.Slack, "url", w.chat.URL+secretPath),
			config("pager", notify.PagerDuty, "url", w.pager.URL, "key", routingKey),
			config("hook", notify.Webhook, "url", w.hook.URL+secretPath, "secret", webhookSecret, "public-only", "false"),
			config("second", notify.Webhook, "url", w.second.URL+secretPath, "secret", webhookSecret, "public-only", "false"),
			config("mail", notify.Email, "server", w.mail.address(), "from", "recoup@example.com", "to", "ops@example.com"),
		},
		Random: func() float64 { return w.random }, Wait: w.wait, Timeout: 20 * time.Second,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(d.Wait)
	return d
}

// wait lets the clock go on instead of waiting.
func (w *world) wait(_ context.Context, by time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, by)
	w.Wait(by)
	return nil
}

// run lets the dispatcher take what is due and waits until it is dealt with; again
// for what was passed on.
func (w *world) run() {
	w.T.Helper()
	for range 2 {
		if err := w.d.Run(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		w.d.Wait()
	}
}

// enqueue adds notices to the outbox that no error causes.
func (w *world) enqueue(list ...wire.Notice) {
	w.T.Helper()
	if _, err := w.db.AddNotices(w.T.Context(), w.Now(), list); err != nil {
		w.T.Fatal(err)
	}
}

func notice(kind wire.NoticeKind, to, body string) wire.Notice {
	return wire.Notice{Kind: kind, To: to, Body: recoup.JSON(body)}
}

// pending says how many notices must wait, and returns them.
func (w *world) pending(want int) []wire.Notice {
	w.T.Helper()
	list, err := w.db.PendingNotices(w.T.Context(), sqldb.MaxPage)
	if err != nil {
		w.T.Fatal(err)
	}
	if len(list) != want {
		w.T.Fatalf("%d notices wait, want %d", len(list), want)
	}
	return list
}

// got says how many requests a receiver must have had.
func (w *world) got(r *receiver, want int) []map[string]any {
	w.T.Helper()
	list := r.bodies()
	if len(list) != want {
		w.T.Fatalf("%d requests, want %d: %v", len(list), want, list)
	}
	return list
}

// faulty is a store that fails when the test says so.
type faulty struct {
	notify.Store
	finish func(context.Context, time.Time, []store.Delivery) (int, error)
}

func (f *faulty) FinishNotices(ctx context.Context, now time.Time, list []store.Delivery) (int, error) {
	if f.finish != nil {
		return f.finish(ctx, now, list)
	}
	return f.Store.FinishNotices(ctx, now, list)
}
