package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// faultProxy stands between a client and the server, and lets requests fail as a
// scenario says. Every request has a connection of its own, so that a client's library
// repeats none by itself.
type faultProxy struct {
	url    string
	server func() string

	mu     sync.Mutex
	faults []*step
	passed map[string][]http.Header // of what came by, by method and path
}

func newFaultProxy(t *testing.T, server func() string) *faultProxy {
	t.Helper()
	p := &faultProxy{server: server, passed: map[string][]http.Header{}}
	listener := httptest.NewUnstartedServer(p)
	listener.Config.SetKeepAlivesEnabled(false)
	listener.Start()
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	p.url = listener.URL
	return p
}

// add lets the next requests of a kind fail: one, Times many, or all until it is healed.
func (p *faultProxy) add(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Times == 0 {
		s.Times = 1
	}
	p.faults = append(p.faults, &s)
}

func (p *faultProxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// requests returns the headers of what came by.
func (p *faultProxy) requests(on string) []http.Header {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.passed[on])
}

// fault notes a request and returns what is to go wrong with it, if anything.
func (p *faultProxy) fault(r *http.Request) *step {
	on := r.Method + " " + r.URL.Path
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[on] = append(p.passed[on], r.Header.Clone())
	for _, f := range p.faults {
		if f.On == on && f.Times != 0 {
			f.Times--
			return f
		}
	}
	return nil
}

func (p *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	f := p.fault(r)
	switch {
	case err != nil:
		panic(http.ErrAbortHandler)
	case f == nil:
		p.forward(r.Context(), w, r, body)
	case f.How == "answer":
		f.answer(w)
	case f.How == "stall": // the server does it, and the client does not hear of it
		p.forward(context.WithoutCancel(r.Context()), httptest.NewRecorder(), r, body)
		<-r.Context().Done()
	case f.How == "cut":
		p.forward(context.WithoutCancel(r.Context()), httptest.NewRecorder(), r, body)
		reset(w)
	default: // the server is not reached
		reset(w)
	}
}

// answer says what a fault says, without asking the server.
func (s *step) answer(w http.ResponseWriter) {
	for name, value := range s.Headers {
		w.Header().Set(name, value)
	}
	body := []byte(s.Body)
	var text string
	if json.Unmarshal(body, &text) == nil {
		body = []byte(text)
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(body) // it fails when the client has gone
}

// forward passes a request on and its answer back; where there is no server, the
// connection breaks.
func (p *faultProxy) forward(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) {
	out, err := http.NewRequestWithContext(ctx, r.Method, "http://"+p.server()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	out.Close = true
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		reset(w)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// reset ends the connection of a request as a crash does: without a farewell.
func reset(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	c, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
