// Package faultproxy is for tests: a proxy between a client and a server that a
// test stalls, cuts and heals, as networks and failovers do by themselves. It
// knows no protocol: it moves bytes, or does not.
//
// A test waits with [Proxy.AwaitHeld] until something is stuck, instead of for
// a time.
package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Way is the direction in which bytes go. They can be combined.
type Way int

// The ways.
const (
	Requests Way                  = 1 << iota // to the server
	Answers                                   // to the client: what it asked for is done, and it does not hear of it
	Both     = Requests | Answers             // as where a cable is pulled: nobody hears anything, and nobody is told
)

// Proxy passes connections on to a server.
type Proxy struct {
	listener net.Listener
	network  string // of the server
	address  string

	mu      sync.Mutex
	stalled Way
	cut     bool
	links   map[*link]struct{}
	held    int           // chunks that wait to be passed on
	changed chan struct{} // closed and replaced with every change of the above
	done    sync.WaitGroup
}

// link is a connection from the client and the one to the server that it became.
type link struct{ client, server net.Conn }

// New starts a proxy to a server, named as for [net.Dial]. It ends with the test.
func New(t testing.TB, network, address string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, network: network, address: address, links: map[*link]struct{}{}, changed: make(chan struct{})}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
		p.done.Wait()
	})
	return p
}

// Postgres starts a proxy to the server of a PostgreSQL URL, on TCP or on a Unix
// socket, and returns the URL of the same database through the proxy.
func Postgres(t testing.TB, to string) (through string, p *Proxy) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = q.Get("host")
	}
	if port == "" {
		port = "5432"
	}
	if filepath.IsAbs(host) {
		p = New(t, "unix", filepath.Join(host, ".s.PGSQL."+port))
	} else {
		p = New(t, "tcp", net.JoinHostPort(host, port))
	}
	q.Del("host")
	u.Host, u.RawQuery = p.Addr(), q.Encode()
	return u.String(), p
}

// Addr is where clients connect, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Stall holds back what goes a way, in all connections and in new ones, until it
// is healed. What is held back is passed on then: nothing is lost.
func (p *Proxy) Stall(way Way) { p.set(func() { p.stalled |= way }) }

// Cut ends all connections, and new ones at once, until it is healed. What was
// held back is lost.
func (p *Proxy) Cut() {
	p.set(func() { p.cut = true })
	p.Drop()
}

// Drop ends all connections, once. What was held back is lost.
func (p *Proxy) Drop() {
	p.set(func() {
		for l := range p.links {
			l.close()
		}
	})
}

// Heal passes everything on again.
func (p *Proxy) Heal() { p.set(func() { p.stalled, p.cut = 0, false }) }

// AwaitHeld returns once something is held back, or the test's patience ends.
func (p *Proxy) AwaitHeld(ctx context.Context) error {
	for {
		p.mu.Lock()
		held, changed := p.held, p.changed
		p.mu.Unlock()
		if held > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// set changes something and tells whoever waits for it.
func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(client) })
	}
}

// serve passes one connection on until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client, server}
	refused := false
	p.set(func() {
		if refused = p.cut; !refused {
			p.links[l] = struct{}{}
		}
	})
	if refused {
		l.close()
		return
	}
	gone := make(chan struct{}) // closed when either way has ended
	var once sync.Once
	end := func() { once.Do(func() { close(gone) }); l.close() }
	var ways sync.WaitGroup
	ways.Go(func() { defer end(); p.pump(server, client, Requests, gone) })
	ways.Go(func() { defer end(); p.pump(client, server, Answers, gone) })
	ways.Wait()
	p.set(func() { delete(p.links, l) })
}

// pump passes on what comes, or holds it back for as long as its way is stalled.
func (p *Proxy) pump(to io.Writer, from io.Reader, way Way, gone <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.pass(way, gone) {
			return
		}
		if _, failed := to.Write(buffer[:n]); errors.Join(err, failed) != nil {
			return
		}
	}
}

// pass waits until a way is free. It reports false if the connection ended first.
func (p *Proxy) pass(way Way, gone <-chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled&way == 0 {
		return true
	}
	p.hold(1)
	defer p.hold(-1)
	for p.stalled&way != 0 {
		changed := p.changed
		p.mu.Unlock()
		ended := false
		select {
		case <-gone:
			ended = true
		case <-changed:
		}
		p.mu.Lock()
		if ended {
			return false
		}
	}
	return true
}

// hold counts what is held back; the caller has the lock.
func (p *Proxy) hold(n int) {
	p.held += n
	close(p.changed)
	p.changed = make(chan struct{})
}

func (l *link) close() {
	reset(l.client)
	reset(l.server)
}

// reset ends a connection as a crash does: without a farewell.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
