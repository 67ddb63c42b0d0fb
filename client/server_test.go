package client_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

const key = "rdb_abcdefghijklmnopqrstuvwxyz234567"

var noon = time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC)

// id makes ids that can be told apart.
func id(n byte) recoup.ID { return recoup.ID{15: n} }

// seen is a request as the server saw it.
type seen struct {
	method, target string
	header         http.Header
	body           string
}

// server answers requests by a handler and remembers them.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []seen
	slept    []time.Duration // by the client
}

// serve starts a server on loopback, which ends with the test.
func serve(t testing.TB, h http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(s.remember(h))
	t.Cleanup(s.Close)
	return s
}

func (s *server) remember(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.requests = append(s.requests, seen{r.Method, r.URL.RequestURI(), r.Header.Clone(), string(body)})
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// options connect a client to the server. It does not really sleep.
func (s *server) options() client.Options {
	return client.Options{
		Server: s.URL, Key: key, Service: "renderdb", Region: "eu-1",
		HTTP: s.Client(), Now: func() time.Time { return noon }, Random: rand.NewChaCha8([32]byte{7}),
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.slept = append(s.slept, d)
			return ctx.Err()
		},
	}
}

func (s *server) client(t testing.TB) *client.Client {
	t.Helper()
	return connect(t, s.options())
}

func connect(t testing.TB, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// all returns what the server has seen so far.
func (s *server) all() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.requests...)
}

// reply answers everything with one body.
func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// inTurn answers the n-th request with the n-th handler, and the rest with the last.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[0]
		if len(handlers) > 1 {
			handlers = handlers[1:]
		}
		mu.Unlock()
		h(w, r)
	}
}

// refuse answers with an error of the contract.
func refuse(e *fault.Error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { fault.Write(w, r, e) }
}

// cut drops the connection: after the server has done the work, before its
// answer is out.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// half sends the beginning of an answer and drops the connection.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"error":`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// local is a network without sockets, for the bubbles of synctest.
type local struct{ http.Handler }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	w, done := httptest.NewRecorder(), make(chan error, 1)
	go func() {
		defer func() {
			if recover() != nil { // http.ErrAbortHandler: the connection is gone
				done <- io.ErrUnexpectedEOF
			}
			close(done)
		}()
		l.ServeHTTP(w, r.Clone(r.Context()))
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return w.Result(), nil
	case <-r.Context().Done():
		<-done
		return nil, r.Context().Err()
	}
}

// bubble connects a client to a handler, with the clock of the bubble.
func bubble(t testing.TB, h http.Handler) *client.Client {
	t.Helper()
	return connect(t, client.Options{
		Server: "http://recoup.test", Key: key, Service: "renderdb", Region: "eu-1",
		HTTP: &http.Client{Transport: local{h}}, Random: rand.NewChaCha8([32]byte{7}),
	})
}
