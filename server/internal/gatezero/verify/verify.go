// Package verify checks the domain of a company: whether it exists and whether its
// pages name who is responsible. It uses a resolver and an HTTP client that it is
// given. It does not know Gate Zero.
//
// Domains are untrusted input: the package connects to public addresses only, follows
// few redirects, reads little, and has time limits.
package verify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/egress"
)

// Reason is what a verification failed for (spec 004, 6); empty: it passed.
type Reason string

// The reasons that a look at a domain can have.
const (
	Passed         Reason = ""
	NotFound       Reason = "DOMAIN_NOT_FOUND"  // there is no such domain
	NoImprint      Reason = "DOMAIN_NO_IMPRINT" // it resolves, and nobody says who they are
	Timeout        Reason = "TIMEOUT"           // it took too long
	APIUnavailable Reason = "API_UNAVAILABLE"   // the resolver or the site is in trouble
)

// Resolver looks up names; see net.Resolver.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are what a verifier is made of. Resolver and Transport are required.
type Options struct {
	Resolver Resolver

	// Transport makes HTTP requests. It must connect through [Options.Dial], or
	// what a redirect leads to is not checked; see [NewTransport].
	Transport http.RoundTripper

	Pages     []string      // where an imprint may be, tried in order; default DefaultPages
	Time      time.Duration // for a domain in all; default 15 s
	Body      int64         // bytes read of a page; default 256 KiB
	Redirects int           // followed per page; default 3

	// Permit says which addresses may be connected to; nil: public ones only.
	Permit func(netip.Addr) bool
}

// DefaultPages returns where an imprint is usually found.
func DefaultPages() []string {
	return []string{"/imprint", "/impressum", "/about", "/contact", "/legal", "/"}
}

func (o Options) withDefaults() Options {
	if len(o.Pages) == 0 {
		o.Pages = DefaultPages()
	}
	if o.Time == 0 {
		o.Time = 15 * time.Second
	}
	if o.Body == 0 {
		o.Body = 256 << 10
	}
	if o.Redirects == 0 {
		o.Redirects = 3
	}
	if o.Permit == nil {
		o.Permit = egress.Public
	}
	return o
}

// Verifier looks at domains. It is safe for concurrent use.
type Verifier struct {
	o      Options
	client *http.Client
}

// New makes a verifier.
func New(o Options) (*Verifier, error) {
	if o.Resolver == nil || o.Transport == nil {
		return nil, errors.New("verifier: a resolver and a transport are required")
	}
	o = o.withDefaults()
	v := &Verifier{o: o}
	v.client = &http.Client{Transport: o.Transport, CheckRedirect: v.follow}
	return v, nil
}

// Verify looks at a domain. The company's name is looked for on its pages. The
// error says more than the reason does, for a log; it never holds what a page
// said.
func (v *Verifier) Verify(ctx context.Context, domain, company string) (Reason, error) {
	ctx, cancel := context.WithTimeout(ctx, v.o.Time)
	defer cancel()
	if domain == "" {
		return NotFound, errors.New("the candidate has no domain")
	}
	addresses, err := v.o.Resolver.LookupNetIP(ctx, "ip", domain)
	if err != nil {
		return lookupReason(ctx, err), err
	}
	if !permitsAny(addresses, v.o.Permit) {
		return NotFound, ErrForbidden
	}
	return v.imprint(ctx, domain, company)
}

// ErrForbidden is the cause of a connection that is not made, because its address
// is not public.
var ErrForbidden = errors.New("the domain leads to an address that is not public")

func permitsAny(list []netip.Addr, permit func(netip.Addr) bool) bool {
	for _, a := range list {
		if permit(a.Unmap()) {
			return true
		}
	}
	return false
}

// lookupReason tells a domain that does not exist from a resolver that does not
// answer.
func lookupReason(ctx context.Context, err error) Reason {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return NotFound
	case ctx.Err() != nil || errors.As(err, &dns) && dns.IsTimeout:
		return Timeout
	}
	return APIUnavailable
}

// sameText compares words as people do.
func sameText(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
