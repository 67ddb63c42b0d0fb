package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/egress"
)

// signs are what a page has on which somebody says who they are.
func signs() []string {
	return []string{
		"imprint", "impressum", "mentions légales", "aviso legal", "legal notice", "company registration", "registered office",
		"registered in", "handelsregister", "vat id", "vat number", "tax id", "all rights reserved", "©", "&copy;", "about us", "contact us",
	}
}

// follow allows few redirects, to pages that are read like the first.
func (v *Verifier) follow(r *http.Request, via []*http.Request) error {
	if len(via) > v.o.Redirects {
		return http.ErrUseLastResponse
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// imprint looks for a page on which somebody says who they are. What the last
// trouble was counts only if no page could be read at all.
func (v *Verifier) imprint(ctx context.Context, domain, company string) (Reason, error) {
	trouble, cause, read := APIUnavailable, error(nil), false
	for _, scheme := range []string{"https", "http"} {
		for _, page := range v.o.Pages {
			text, reason, err := v.read(ctx, scheme+"://"+domain+page)
			switch {
			case ctx.Err() != nil:
				return Timeout, ctx.Err()
			case err != nil:
				trouble, cause = reason, err
			default:
				read = true
				if tells(text, company) {
					return Passed, nil
				}
			}
			if err != nil && unconnected(err) {
				break // nobody is there, at whatever page
			}
		}
		if read {
			return NoImprint, nil
		}
	}
	return trouble, cause
}

// errStatus is an answer that is no page.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("the site answers with status %d", int(e)) }

// read reads the beginning of a page. A page that is not there reads as empty.
func (v *Verifier) read(ctx context.Context, url string) (text string, reason Reason, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", NotFound, errors.New("the domain makes no address")
	}
	r.Header.Set("User-Agent", "recoup-verifier/1")
	r.Header.Set("Accept", "text/html,text/plain;q=0.9")
	answer, err := v.client.Do(r)
	if err != nil {
		return "", connectReason(err), err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	switch {
	case answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500:
		return "", APIUnavailable, errStatus(answer.StatusCode)
	case answer.StatusCode >= 300:
		return "", "", nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, v.o.Body))
	if err != nil && len(body) == 0 {
		return "", connectReason(err), err
	}
	return string(body), "", nil
}

// connectReason classifies what keeps a page from being read.
func connectReason(err error) Reason {
	var timeout net.Error
	switch {
	case errors.Is(err, ErrForbidden):
		return NotFound
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	}
	return APIUnavailable
}

// unconnected reports whether an error is of the connection, not of the page.
func unconnected(err error) bool {
	var op *net.OpError
	return errors.Is(err, ErrForbidden) || errors.As(err, &op) && op.Op == "dial"
}

// tells reports whether a page says who is behind it: by the company's name, or
// by what such pages say.
func tells(text, company string) bool {
	text = sameText(text)
	if company = sameText(company); company != "" && strings.Contains(text, company) {
		return true
	}
	for _, sign := range signs() {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// NewTransport returns a transport that connects only to addresses that permit
// allows, or, if it is nil, to public ones. It resolves a name itself and connects
// to what it has checked, so that a name cannot mean something else a moment
// later; and it takes no proxy, which would connect for it.
func NewTransport(resolver Resolver, permit func(netip.Addr) bool) *http.Transport {
	if permit == nil {
		permit = egress.Public
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialPermitted(ctx, dialer, resolver, permit, network, address)
		},
		TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost: 1, IdleConnTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
	}
}

func dialPermitted(ctx context.Context, dialer *net.Dialer, resolver Resolver, permit func(netip.Addr) bool, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses := []netip.Addr{}
	if literal, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, literal)
	} else if addresses, err = resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	err = ErrForbidden
	for _, a := range addresses {
		if a = a.Unmap(); !permit(a) {
			continue
		}
		conn, failed := dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if failed == nil {
			return conn, nil
		}
		err = failed
	}
	return nil, err
}
