package httpapi

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// A request is identified by where it comes from and where it was sent to. Both are
// known from its connection and its Host. A proxy in between knows better, and says
// so in X-Forwarded-For, -Proto and -Host, which everybody can send: they are
// believed only of addresses that the operator has named.

// trusted reports whether an address is that of a named proxy.
func (s *Server) trusted(address netip.Addr) bool {
	for _, p := range s.Proxies {
		if p.Contains(address) {
			return true
		}
	}
	return false
}

// peer is the other end of a request's connection; the zero address if it has none.
func peer(r *http.Request) netip.Addr {
	address, _ := parseAddress(r.RemoteAddr)
	return address
}

// parseAddress reads an address with a port or without, one of IPv6 in brackets or not.
// The same address is always the same value, however it was written.
func parseAddress(s string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		with, e := netip.ParseAddrPort(s)
		address, err = with.Addr(), e
	}
	return address.Unmap().WithZone(""), err == nil
}

// client is the address that a request comes from: the last one on its way that is
// no named proxy's. Each proxy appends whom it heard from, so what a client has made
// up stands before that and is never read.
func (s *Server) client(r *http.Request) netip.Addr {
	at := peer(r)
	if !s.trusted(at) {
		return at
	}
	way := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for ; len(way) > 0 && s.trusted(at); way = way[:len(way)-1] {
		next, ok := parseAddress(strings.TrimSpace(way[len(way)-1]))
		if !ok {
			break
		}
		at = next
	}
	return at
}

// hostPattern is a name or an address, with a port or without.
var hostPattern = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// Origin is where whoever sent a request finds this server: its URL, else the host
// that the request names, or the one that a named proxy says it was sent to. It is
// empty if that is no host.
func (s *Server) Origin(r *http.Request) string {
	if s.URL != "" {
		return s.URL
	}
	host, scheme := r.Host, "http"
	if r.TLS != nil {
		scheme = "https"
	}
	if s.trusted(peer(r)) {
		host = forwarded(r.Header, "X-Forwarded-Host", host)
		scheme = strings.ToLower(forwarded(r.Header, "X-Forwarded-Proto", scheme))
	}
	if scheme != "http" && scheme != "https" || !hostPattern.MatchString(host) || secretive(host) {
		return ""
	}
	return scheme + "://" + host
}

// forwarded is what a proxy says, or what is known without it. Of several values one
// may be the client's own: which one is not guessed at, and they are returned as
// what is neither a host nor a scheme.
func forwarded(h http.Header, name, otherwise string) string {
	said := h.Values(name)
	if len(said) == 0 {
		return otherwise
	}
	return strings.Join(said, ",")
}

// named is how an address is logged; nothing if there is none.
func named(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// Secure reports whether whoever sent a request came by TLS, as far as this server or a
// proxy that it trusts can know.
func (s *Server) Secure(r *http.Request) bool { return strings.HasPrefix(s.Origin(r), "https:") }
