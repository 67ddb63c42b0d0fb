package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// ledger takes events as a server does: each once, by its id.
type ledger struct {
	now      func() time.Time
	mu       sync.Mutex
	events   map[recoup.ID]recoup.Event
	requests []batch
	fail     func(n int, w http.ResponseWriter, r *http.Request) bool // of the n-th request, from 0
}

// batch is one request for events.
type batch struct {
	at     time.Time
	header http.Header
	events []recoup.Event
}

func newLedger() *ledger { return &ledger{now: time.Now, events: map[recoup.ID]recoup.Event{}} }

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b := batch{at: l.now(), header: r.Header}
	for line := range strings.Lines(string(body)) {
		var e recoup.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		b.events = append(b.events, e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.requests)
	l.requests = append(l.requests, b)
	if l.fail != nil && l.fail(n, w, r) {
		return
	}
	l.keep(b)
	_ = json.NewEncoder(w).Encode(recoup.EventsAccepted{Accepted: len(b.events), Durable: true})
}

func (l *ledger) keep(b batch) {
	for _, e := range b.events {
		l.events[e.ID] = e
	}
}

// down answers with a failure as long as it is told to.
func down(e *fault.Error, until func(n int) bool) func(int, http.ResponseWriter, *http.Request) bool {
	return func(n int, w http.ResponseWriter, r *http.Request) bool {
		if until(n) {
			return false
		}
		fault.Write(w, r, e)
		return true
	}
}

func always(int) bool { return false }

func from(n int) func(int) bool { return func(i int) bool { return i >= n } }
