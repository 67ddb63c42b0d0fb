package api

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// keyLifetime is how long a key is good for (spec 001, Authentication Errors).
const keyLifetime = 90 * 24 * time.Hour

// Role is what the holder of a key may do.
type Role string

// The roles. A writer may also read.
const (
	Reader Role = "reader"
	Writer Role = "writer"
)

// Key is an API key: rdb_ and 32 characters.
type Key struct {
	Secret  string
	Account string
	Role    Role
	Issued  time.Time
}

// Expires returns the time from which on the key is refused.
func (k Key) Expires() time.Time { return k.Issued.Add(keyLifetime) }

// permit returns INSUFFICIENT_PERMISSIONS if the key does not have the role.
func (k Key) permit(need Role) error {
	if k.Role == need || k.Role == Writer {
		return nil
	}
	return fault.New(fault.CodeInsufficientPermissions, "This key may only read.").
		With("role", k.Role).With("required_role", need)
}

// DemoKeys returns a key of each kind, for tests and for the demonstration: one
// that may write, one that may read, and one that expired yesterday.
func DemoKeys(now time.Time) []Key {
	secret := func(name string) string { return "rdb_" + name + strings.Repeat("0", 32-len(name)) }
	return []Key{
		{Secret: secret("writer"), Account: "acme", Role: Writer, Issued: now},
		{Secret: secret("reader"), Account: "acme-reports", Role: Reader, Issued: now},
		{Secret: secret("expired"), Account: "acme-old", Role: Writer, Issued: now.Add(-keyLifetime - 24*time.Hour)},
	}
}

// keyring finds a key by its hash, so that neither a dump of the memory nor the
// time that a comparison takes reveals a key.
type keyring map[[sha256.Size]byte]Key

func newKeyring(keys []Key) keyring {
	ring := make(keyring, len(keys))
	for _, k := range keys {
		ring[sha256.Sum256([]byte(k.Secret))] = k
	}
	return ring
}

// authenticate returns the key that a request brings. A caller who does not know
// a key learns what keys look like, and nothing about those that exist.
func (ring keyring) authenticate(authorization string, now time.Time) (Key, error) {
	secret, _ := strings.CutPrefix(authorization, "Bearer ")
	key, known := ring[sha256.Sum256([]byte(secret))]
	switch {
	case !known:
		return Key{}, fault.New(fault.CodeInvalidAPIKey, "The API key is missing or not valid.").
			With("key_format", "rdb_[32_chars], sent as a bearer token").
			With("expiration_policy", "A key is good for 90 days.")
	case !now.Before(key.Expires()):
		return Key{}, fault.New(fault.CodeAPIKeyExpired, "The API key is too old: please get a new one.").
			With("expired_at", key.Expires().UTC().Format(time.RFC3339)).
			With("renewal_url", "https://dashboard.render-for-db.com/api-keys")
	}
	return key, nil
}
