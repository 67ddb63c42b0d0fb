package egress_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/egress"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.8.9.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "fc00::1": false, "fec0::1": false,
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "255.255.255.255": false, "198.18.0.1": false, "203.0.113.9": false,
		"224.0.0.1": false, "239.1.1.1": false, "ff02::1": false, "ff0e::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::7f00:1": false, "64:ff9b::a00:1": false, "64:ff9b::808:808": false, "64:ff9b:1::1": false, "2002:a00:1::1": false, "::ffff:0:7f00:1": false, "168.63.129.16": false,
	} {
		if got := egress.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is public: %t", address, got)
		}
	}
}

// A name that leads inside is refused with the address that it leads to.
func TestControl(t *testing.T) {
	t.Parallel()
	dialer := &net.Dialer{Control: egress.Control}
	for _, host := range []string{"localhost:1", "127.0.0.1:1"} {
		_, err := dialer.DialContext(t.Context(), "tcp4", host)
		var refused *egress.Refused
		if !errors.As(err, &refused) || refused.Address != "127.0.0.1" {
			t.Errorf("%s: %v", host, err)
		}
	}
}
