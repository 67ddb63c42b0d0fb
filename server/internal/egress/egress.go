// Package egress decides which addresses a node connects to on behalf of others: those of
// the public internet, unless the operator allows private networks. It checks the address
// that a name was resolved to, so that a name that leads inside is refused as well.
package egress

import (
	"fmt"
	"net/netip"
	"syscall"
)

// Refused is the error of a connection to an address that is not public.
type Refused struct{ Address string }

func (r *Refused) Error() string { return r.Address + " is not a public address" }

// reserved are the ranges that are not public and that [netip.Addr] has no method for:
// shared and documentation addresses, and those that stand for an IPv4 address.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's own services, reached from its machines only
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("::ffff:0:0:0/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
}

// Public reports whether an address is one of the public internet: not loopback, private,
// link-local or multicast, and none that stands for another network.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Control is the Control of a [net.Dialer] that refuses addresses that are not public with
// a [Refused]. It is called for each address before the connection is made, after names are
// resolved.
func Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address cannot be read: %w", err)
	}
	if !Public(at.Addr()) {
		return &Refused{at.Addr().String()}
	}
	return nil
}
