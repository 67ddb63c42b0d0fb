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
	"syscall"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/egress"
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
// own where roots is nil. With publicOnly it connects to public addresses only, and to
// no proxy, which would connect for it.
func NewClient(roots *x509.CertPool, publicOnly bool, connections int) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if publicOnly {
		dialer.Control = egress.Control
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
	var refused *egress.Refused
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return temporary("its address %s is not public; public_only: false allows private networks", refused.Address)
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
