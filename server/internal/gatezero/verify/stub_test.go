package verify_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/gatezero/verify"
)

// nameServer is a name server on loopback. It knows the addresses of names, is in
// trouble with what begins with "broken", and does not answer what begins with
// "silent".
func nameServer(t *testing.T, names map[string]string) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answer(buf[:n], names); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer makes the reply to a question for the addresses of a name.
func answer(query []byte, names map[string]string) []byte {
	const header = 12
	var labels []string
	at := header
	for query[at] != 0 {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		at += int(query[at]) + 1
	}
	question, name := query[header:at+5], strings.ToLower(strings.Join(labels, "."))
	kind := binary.BigEndian.Uint16(query[at+1:])
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	address, known := names[name]
	switch {
	case strings.HasPrefix(name, "silent"):
		return nil
	case strings.HasPrefix(name, "broken"):
		reply[3] |= 2 // SERVFAIL
	case !known:
		reply[3] |= 3 // NXDOMAIN
	case kind == 1 && netip.MustParseAddr(address).Is4():
		a := netip.MustParseAddr(address).As4()
		reply[7] = 1
		reply = append(append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4), a[:]...)
	case kind == 28 && netip.MustParseAddr(address).Is6():
		a := netip.MustParseAddr(address).As16()
		reply[7] = 1
		reply = append(append(reply, 0xc0, header, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16), a[:]...)
	}
	return reply
}

// site is a web server on loopback, and a verifier that finds it under every name
// that leads to 127.0.0.1.
type site struct {
	*httptest.Server
	verifier *verify.Verifier
}

// onPort sends plain requests to the port that a test's server has, and has no
// encrypted ones.
type onPort struct {
	port string
	next http.RoundTripper
}

var errNoTLS = &net.OpError{Op: "dial", Err: errors.New("nobody listens there")}

func (o onPort) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return nil, errNoTLS
	}
	r = r.Clone(r.Context())
	if r.URL.Port() == "" {
		r.URL.Host = net.JoinHostPort(r.URL.Hostname(), o.port)
	}
	return o.next.RoundTrip(r)
}

// itself is the one address that the tests let a verifier connect to.
func itself(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }

func newSite(t *testing.T, names map[string]string, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{Server: httptest.NewServer(handler)}
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resolver := nameServer(t, names)
	transport := verify.NewTransport(resolver, itself)
	t.Cleanup(transport.CloseIdleConnections)
	s.verifier, err = verify.New(verify.Options{
		Resolver: resolver, Transport: onPort{port, transport}, Permit: itself, Time: 2 * time.Second, Body: 4096,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
