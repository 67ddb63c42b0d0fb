package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"recoup/retry"
)

// maxAnswer is how much of an answer is read.
const maxAnswer = 4 << 10

// poster sends JSON over HTTP. It follows no redirect, because a message would go
// where nobody has said; it verifies certificates; and what it returns as a failure
// names neither the address, which may be a secret, nor what was answered.
type poster struct {
	client *http.Client
	url    string
	now    func() time.Time
}

func newPoster(url string, t Tools, publicOnly bool) *poster {
	return &poster{NewClient(t.Roots, publicOnly, 1), url, t.Now}
}

// NewClient makes a client for addresses of others, which keeps that many connections
// to each. It follows no redirect, verifies certificates by roots, or by the machine's
// own where roots is nil, and if publicOnly says so connects to no private network.
func NewClient(roots *x509.CertPool, publicOnly bool, connections int) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if publicOnly {
		dialer.Control = refusePrivate
	}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    5 * time.Second,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 16 << 10,
		ForceAttemptHTTP2:      true,
	}
	if !publicOnly {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// over lets requests be carried by something else.
func (p *poster) over(t http.RoundTripper) { p.client.Transport = t }

// post sends a body and returns the beginning of the answer if it was accepted.
func (p *poster) post(ctx context.Context, body []byte, header map[string]string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, temporary("the address cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "recoup")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, Unreachable(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < http.StatusOK { // it has switched protocols: what follows is no body, and has no end
		return nil, refused(answer, p.now())
	}
	defer context.AfterFunc(ctx, func() { _ = answer.Body.Close() })()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		if err != nil {
			return nil, Unreachable(err)
		}
		return said, nil
	}
	return said, refused(answer, p.now())
}

// refused says what an answer that is no success means. That the message itself is
// wrong is for good. A wrong key, address or redirect can be put right by those who
// run the node, so such a notice waits like any other.
func refused(answer *http.Response, now time.Time) *Failure {
	f := temporary("answered with status %d", answer.StatusCode)
	if after, ok := retry.ParseRetryAfter(answer.Header.Get("Retry-After"), now); ok {
		f.RetryAfter = after
	}
	switch code := answer.StatusCode; {
	case code >= 300 && code < 400:
		f.Reason += ", and redirects are not followed"
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		f.Permanent = true
	}
	return f
}

// Unreachable says in a few words why there was no answer. The error itself holds
// the address and is not repeated.
func Unreachable(err error) *Failure {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var timeout net.Error
	switch {
	case errors.Is(err, errPrivate):
		return temporary("its address is private, which is not allowed")
	case errors.Is(err, context.Canceled):
		return temporary("stopped while sending")
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return temporary("no answer in time")
	case errors.As(err, &dns):
		return temporary("its host is not found")
	case errors.As(err, &certificate), errors.As(err, &authority):
		return temporary("its certificate is not trusted")
	case errors.Is(err, syscall.ECONNREFUSED):
		return temporary("it refuses connections")
	}
	return temporary("the connection failed")
}

var errPrivate = errors.New("a private address")

// refusePrivate keeps a connection from going inside. It is asked with the address
// that was looked up, so a name that leads inside does not help.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !public(at.Addr()) {
		return errPrivate
	}
	return nil
}

// inside are the ranges that are not public although they look like it.
var inside = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"),
}

func public(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range inside {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}
