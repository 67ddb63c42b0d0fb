package config

import (
	"net/url"
	"regexp"
	"strings"
)

var passwords = regexp.MustCompile(`(?i)(password|passfile|sslpassword|sslkey)=[^&\s]*`)

// MaskURL returns an address of a database, or addresses of a bus, without passwords.
func MaskURL(address string) string {
	if first, rest, several := strings.Cut(address, ","); several && (ofBus(first) || strings.HasPrefix(first, "http")) {
		return MaskURL(first) + "," + MaskURL(rest)
	}
	masked := passwords.ReplaceAllString(address, "$1=***")
	u, err := url.Parse(masked)
	if err != nil {
		kind, _, _ := strings.Cut(address, ":")
		return kind + ":***"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "MASKED")
		return strings.Replace(u.String(), ":MASKED@", ":***@", 1)
	}
	if u.User != nil && ofBus(address) { // a token
		u.User = url.User("MASKED")
		return strings.Replace(u.String(), "MASKED@", "***@", 1)
	}
	return masked
}

// ofBus reports whether an address is that of a server of NATS.
func ofBus(address string) bool {
	return strings.HasPrefix(address, "nats://") || strings.HasPrefix(address, "tls://")
}
