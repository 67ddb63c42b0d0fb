package fault_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

var (
	reset   = expect{"CONNECTION_RESET", recoup.ClassImmediate, fault.ScopeIdempotentOnly, "connection_reset"}
	cutOff  = expect{"CONNECTION_RESET", recoup.ClassImmediate, fault.ScopeIdempotentOnly, "unexpected_eof"}
	timeout = expect{"NETWORK_TIMEOUT", recoup.ClassImmediate, fault.ScopeIdempotentOnly, ""}
)

func noTLS(reason string) expect {
	return expect{"TLS_ERROR", recoup.ClassFatal, fault.ScopeRequest, reason}
}

// listen serves every connection to a loopback port with handle.
func listen(t *testing.T, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if tcp, ok := conn.(*net.TCPConn); ok {
				handle(tcp)
			}
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestClassifyARealReset(t *testing.T) {
	conn := dial(t, listen(t, func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 1)) // the connection stands
		_ = c.SetLinger(0)             // so that closing resets
		_ = c.Close()
	}))
	_, err := conn.Write([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	reset.check(t, "read", err)
	_, err = conn.Write([]byte("x"))
	expect{"CONNECTION_RESET", recoup.ClassImmediate, fault.ScopeIdempotentOnly, "broken_pipe"}.check(t, "write", err)
}

func TestClassifyARealRefusal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = get(t.Context(), http.DefaultClient, "http://"+l.Addr().String())
	expect{"TEMPORARY_UNAVAILABLE", recoup.ClassShortDelay, fault.ScopeRequest, "connection_refused"}.check(t, "get", err)
}

func TestClassifyRealTimeouts(t *testing.T) {
	conn := dial(t, listen(t, func(c *net.TCPConn) { t.Cleanup(func() { _ = c.Close() }) }))
	if err := conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	timeout.check(t, "read deadline", err)

	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	err = get(t.Context(), &http.Client{Timeout: time.Millisecond}, silent.URL)
	if v := fault.Classify(err); v.Code != fault.CodeNetworkTimeout || v.Class != recoup.ClassImmediate {
		t.Errorf("client time-out: %v = %+v", err, v) // its scope depends on how far it got
	}

	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	_, err = new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
	expect{"NETWORK_TIMEOUT", recoup.ClassImmediate, fault.ScopeRequest, "connection_timeout"}.check(t, "dial", err)
}

func TestClassifyARealCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	waiting := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer waiting.Close()
	want := expect{"REQUEST_CANCELLED", recoup.ClassFatal, fault.ScopeRequest, ""}
	want.check(t, "request", get(ctx, http.DefaultClient, waiting.URL))
	_, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
	want.check(t, "dial", err)
}

// get sends a request and reads the whole answer.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func TestClassifyAnswersThatBreakOff(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}
		panic(http.ErrAbortHandler)
	}))
	defer broken.Close()
	cutOff.check(t, "no answer", get(t.Context(), http.DefaultClient, broken.URL))
	cutOff.check(t, "half an answer", get(t.Context(), http.DefaultClient, broken.URL+"/half"))
}

func TestClassifyRealTLSFailures(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	defer server.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	garbage := listen(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "220 ready\r\n") })

	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	with := func(config *tls.Config) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	}
	future := func() time.Time { return time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		client *http.Client
		url    string
		reason string
	}{
		"unknown authority": {with(&tls.Config{}), server.URL, "unknown_authority"},
		"wrong name":        {with(&tls.Config{RootCAs: roots, ServerName: "other.test"}), server.URL, "hostname_mismatch"},
		"expired":           {with(&tls.Config{RootCAs: roots, Time: future}), server.URL, "certificate_invalid"},
		"old protocol":      {with(&tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12}), server.URL, "alert"},
		"plain HTTP":        {with(&tls.Config{}), strings.Replace(plain.URL, "http:", "https:", 1), "not_tls"},
		"another protocol":  {with(&tls.Config{}), "https://" + garbage, "not_tls"},
	} {
		noTLS(c.reason).check(t, name, get(t.Context(), c.client, c.url))
	}
}

// The response codes of RFC 1035, and none: a server that does not answer.
const (
	silence  = -1
	servFail = 2
	nxDomain = 3
	refused  = 5
)

// nameServer answers every query on a loopback port with one response code.
func nameServer(t *testing.T, rcode int) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
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
			if rcode == silence {
				continue
			}
			answer := buf[:n:n]
			binary.BigEndian.PutUint16(answer[2:], 0x8180|uint16(rcode)) // a response, recursion done
			binary.BigEndian.PutUint16(answer[10:], 0)                   // without the additional section
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestClassifyRealNameServers(t *testing.T) {
	for name, c := range map[string]struct {
		rcode int
		want  expect
	}{
		"no such name":   {nxDomain, expect{"DOMAIN_NOT_FOUND", recoup.ClassShortDelay, fault.ScopeRequest, "dns_not_found"}},
		"server failure": {servFail, expect{"DNS_TIMEOUT", recoup.ClassImmediate, fault.ScopeRequest, "dns_server_failure"}},
		"no answer":      {silence, expect{"DNS_TIMEOUT", recoup.ClassImmediate, fault.ScopeRequest, "dns_timeout"}},
		"refused":        {refused, expect{"INTERNAL_ERROR", recoup.ClassFatal, fault.ScopeRequest, ""}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if c.rcode == silence {
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		}
		dialer := &net.Dialer{Resolver: nameServer(t, c.rcode)}
		_, err := dialer.DialContext(ctx, "tcp", "nobody.test.:80")
		c.want.check(t, name, err)
		cancel()
	}
}
