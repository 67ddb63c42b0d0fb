package push_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	secret = "a-secret-of-the-receiver"
	path   = "/hooks/hunter2" // an address may be a secret
	lane   = "criticizer/fetch"
)

// world is a node, and what its pushers log.
type world struct {
	*node.Node
	db      node.Store
	letters *deadletter.Service
	gate    *gatezero.Service
	lines   chan struct{} // a line of the log
	mu      sync.Mutex
	log     bytes.Buffer
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	node.Everywhere(t, func(t *testing.T, db node.Store) { test(newWorld(t, db)) })
}

func newWorld(t *testing.T, db node.Store) *world {
	t.Helper()
	n := node.On(t, db)
	gate, err := gatezero.New(gatezero.Options{
		Store: gatezero.NewStore(db.SQL()), Audit: db, Gate: func() policy.GateZero { return n.Policies.Current().Gate }, Now: n.Now, IDs: n.IDs,
	})
	n.Must(err)
	w := &world{Node: n, db: db, letters: n.Letters, gate: gate, lines: make(chan struct{}, 10000)}
	t.Cleanup(func() {
		if text := w.logged(); strings.Contains(text, secret) || strings.Contains(text, "hunter2") {
			t.Errorf("the log tells secrets:\n%s", text)
		}
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	w.Must(err)
}

func (w *world) clock() time.Time { return w.Now() }

func (w *world) wait(d time.Duration) { w.Wait(d) }

// Write takes the log.
func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines <- struct{}{}
	return w.log.Write(b)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// delivery is a request that a receiver got.
type delivery struct {
	key  string
	body string
}

// receiver is a server that gets deliveries. It holds each to its signature.
type receiver struct {
	*world
	*httptest.Server
	arrived chan delivery

	mu     sync.Mutex
	answer http.HandlerFunc
	got    []delivery
}

func (w *world) receiver(answer http.HandlerFunc) *receiver {
	r := &receiver{world: w, arrived: make(chan delivery, 10000), answer: answer}
	r.Server = httptest.NewServer(r)
	w.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.Errorf("a body could not be read: %v", err)
	}
	if err := client.VerifySignature(secret, q.Header.Get(client.SignatureHeader), body, r.clock(), 0); err != nil {
		r.Errorf("the signature of a delivery: %v", err)
	}
	if q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" {
		r.Errorf("%s of %s", q.Method, q.Header.Get("Content-Type"))
	}
	d := delivery{q.Header.Get("Idempotency-Key"), string(body)}
	r.mu.Lock()
	r.got = append(r.got, d)
	answer := r.answer
	r.mu.Unlock()
	r.arrived <- d
	answer(rw, q)
}

func (r *receiver) from(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) keys() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.got {
		list = append(list, d.key)
	}
	return list
}

// says answers with a status and a body, and headers as name, value, name, value…
func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for pair := range slices.Chunk(header, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hang never answers: it waits until the other side has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// pusher is what delivers, on a node of its own.
type pusher struct {
	*push.Pusher
	w *world
}

// values are the settings of a receiver.
func (r *receiver) values(more ...string) map[string]string {
	v := map[string]string{"url": r.URL + path, "secret": secret, "public-only": "false"}
	for pair := range slices.Chunk(more, 2) {
		v[pair[0]] = pair[1]
	}
	return v
}

func (w *world) pusher(kind string, values map[string]string) *pusher {
	w.Helper()
	return w.pusherOn(w.letters, kind, values)
}

func (w *world) pusherOn(letters push.Letters, kind string, values map[string]string) *pusher {
	w.Helper()
	p, err := push.New(push.Options{
		Letters: letters, Kinds: []push.Kind{gatezero.Receivers()}, Sources: map[string]push.OpenSource{gatezero.ReceiverKind: gatezero.Deliver(w.gate, httpapi.Read)}, Read: httpapi.Read, Now: w.clock, Random: func() float64 { return 0.5 }, Logger: slog.New(slog.NewTextHandler(w, nil)),
		Receivers: []push.Config{{Name: "render", Kind: kind, Values: values}},
	})
	w.must(err)
	w.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := p.Drain(ended); err != nil {
			w.Error(err)
		}
	})
	return &pusher{p, w}
}

// run lets deliveries begin, and waits until none is on its way.
func (p *pusher) run() wire.Receiver {
	p.w.Helper()
	p.w.must(p.Run(p.w.Context()))
	p.Settle()
	return p.is()
}

func (p *pusher) is() wire.Receiver { return p.Receivers()[0] }

// wants compares how often deliveries came to what; what is not named is none.
func (p *pusher) wants(want map[string]int64) {
	p.w.Helper()
	for outcome, n := range p.is().Deliveries {
		if n != want[outcome] {
			p.w.Errorf("deliveries are %v, want %v", p.is().Deliveries, want)
			return
		}
	}
}
