package httpapi

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Keys are rdb_ and 32 characters (spec 001), 160 random bits. They are valid for 90 days.
const (
	keyPrefix  = "rdb_"
	keyChars   = 32
	keyHint    = len(keyPrefix) + 4
	KeyLife    = 90 * 24 * time.Hour
	keyFormat  = "rdb_ followed by 32 characters"
	keyRenewal = "/v1/keys"
)

var keyAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewKey makes a key with its secret, which no store keeps.
func NewKey(ids *recoup.IDSource, random io.Reader, now time.Time, name string, role Role, hubs []string, life time.Duration) (wire.Key, error) {
	var bits [20]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return wire.Key{}, fmt.Errorf("making a key: %w", err)
	}
	secret := keyPrefix + keyAlphabet.EncodeToString(bits[:])
	return wire.Key{
		ID: ids.New(now), Name: name, Role: string(role), Hubs: slices.Clone(hubs),
		Hint: secret[:keyHint], Hash: sha256.Sum256([]byte(secret)), Secret: secret, ExpiresAt: now.Add(life),
	}, nil
}

// wellFormed reports whether a secret can be a key at all, so that nonsense
// costs no look into the database.
func wellFormed(secret string) bool {
	rest, ok := strings.CutPrefix(secret, keyPrefix)
	return ok && len(rest) == keyChars && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}
