package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"
)

// minSecret is the least number of bytes of a tenant key's secret. Tenants are few
// and their names are known: with a key that can be guessed so can they.
const minSecret = 16

// TenantKey is a secret under which tenants are hashed, and its name.
type TenantKey struct {
	ID     string
	Secret []byte
}

// Tenants hashes the names of tenants with HMAC-SHA256 (spec 003, security and
// privacy). Keys rotate: one is current and hashes what is new, the others live as
// long as what they hashed must be found. A key that is gone shreds it. Safe for
// concurrent use.
type Tenants struct{ ring atomic.Pointer[ring] }

// ring is a set of keys; it does not change.
type ring struct {
	current *hasher
	all     []*hasher // the current one first
}

// Replace puts other keys in place of the present ones, at once for everybody. If
// it returns an error, nothing has changed.
func (t *Tenants) Replace(current string, keys ...TenantKey) error {
	r := &ring{}
	seen := map[string]bool{}
	for _, key := range keys {
		switch {
		case key.ID == "":
			return fmt.Errorf("ledger: a tenant key has no id")
		case seen[key.ID]:
			return fmt.Errorf("ledger: the tenant key %s is there twice", key.ID)
		case len(key.Secret) < minSecret:
			return fmt.Errorf("ledger: the secret of the tenant key %s has %d bytes: at least %d are needed", key.ID, len(key.Secret), minSecret)
		}
		seen[key.ID] = true
		h := newHasher(key)
		if key.ID != current {
			r.all = append(r.all, h)
			continue
		}
		r.current = h
		r.all = append([]*hasher{h}, r.all...)
	}
	if r.current == nil {
		return fmt.Errorf("ledger: none of the %d tenant keys is the current one, %q", len(keys), current)
	}
	t.ring.Store(r)
	return nil
}

// Hash returns the hash of a tenant under the current key, in hexadecimal, and the
// key's id.
func (t *Tenants) Hash(tenant string) (hash, keyID string) {
	h := t.ring.Load().current
	return h.hash(tenant), h.id
}

// TenantHashes returns the hashes of a tenant under every live key, the current one
// first: what a search for a tenant must look for.
func (t *Tenants) TenantHashes(tenant string) []string {
	all := t.ring.Load().all
	hashes := make([]string, len(all))
	for i, h := range all {
		hashes[i] = h.hash(tenant)
	}
	return hashes
}

// hasher hashes under one key. Preparing a key costs more than hashing a name, so
// what is prepared is used again.
type hasher struct {
	id   string
	pool sync.Pool // of *state
}

type state struct {
	mac     hash.Hash
	name    []byte
	sum     []byte
	written [2 * sha256.Size]byte
}

func newHasher(key TenantKey) *hasher {
	secret := bytes.Clone(key.Secret)
	h := &hasher{id: key.ID}
	h.pool.New = func() any { return &state{mac: hmac.New(sha256.New, secret)} }
	return h
}

func (h *hasher) hash(tenant string) string {
	s, _ := h.pool.Get().(*state)
	defer h.pool.Put(s)
	s.mac.Reset()
	s.name = append(s.name[:0], tenant...)
	s.mac.Write(s.name)
	clear(s.name)
	s.sum = s.mac.Sum(s.sum[:0])
	hex.Encode(s.written[:], s.sum)
	return string(s.written[:])
}
