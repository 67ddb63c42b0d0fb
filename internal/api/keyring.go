package api

import (
	"context"
	"sync"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/store"
)

// KeyStore is what authentication needs of a store.
type KeyStore interface {
	KeyByHash(ctx context.Context, hash [32]byte) (store.Key, error)
	TouchKeys(ctx context.Context, used map[recoup.ID]time.Time) error
}

// keyring remembers keys for a few seconds, so that a request costs no query. A
// key that is revoked on another node works that long at most.
type keyring struct {
	store   KeyStore
	lookups chan struct{} // those that run

	mu      sync.Mutex
	known   map[[32]byte]remembered
	used    map[recoup.ID]time.Time
	changes int
}

type remembered struct {
	key   *store.Key
	until time.Time
}

const (
	keyMemory = 3 * time.Second
	maxKnown  = 10000

	// maxLookups is how many keys are looked up at once. Whoever has no key can
	// make up as many as they like: they must not take the database from others.
	maxLookups = 32
)

func newKeyring(s KeyStore) *keyring {
	return &keyring{
		store: s, lookups: make(chan struct{}, maxLookups),
		known: map[[32]byte]remembered{}, used: map[recoup.ID]time.Time{},
	}
}

func (k *keyring) find(ctx context.Context, hash [32]byte, now time.Time) (*store.Key, error) {
	known, fresh, changes := k.recall(hash, now)
	if fresh {
		return known, nil
	}
	if known == nil {
		select {
		case k.lookups <- struct{}{}:
			defer func() { <-k.lookups }()
		default:
			return nil, fault.New(fault.CodeServiceOverloaded, "Too many keys that were not seen lately are being looked up.").After(time.Second)
		}
	}
	key, err := k.store.KeyByHash(ctx, hash)
	if err != nil {
		return nil, err
	}
	k.remember(hash, &key, now, changes)
	return &key, nil
}

// recall returns a key that was seen lately. Of those who come when that is over,
// one is told so and looks again, and the others take it as it was. With it comes
// how often keys have changed so far.
func (k *keyring) recall(hash [32]byte, now time.Time) (key *store.Key, fresh bool, changes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.known[hash]
	if fresh = ok && now.Before(found.until); ok && !fresh {
		k.known[hash] = remembered{found.key, now.Add(keyMemory)}
	}
	return found.key, fresh, k.changes
}

// remember keeps what was looked up, unless keys have changed meanwhile.
func (k *keyring) remember(hash [32]byte, key *store.Key, now time.Time, changes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.changes != changes {
		return
	}
	if len(k.known) >= maxKnown {
		clear(k.known)
	}
	k.known[hash] = remembered{key, now.Add(keyMemory)}
}

// forget makes a change of keys take effect on this node at once.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	clear(k.known)
}

// touch notes that a key was used.
func (k *keyring) touch(id recoup.ID, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used[id] = now
}

// FlushKeyUse writes down when keys were last used. It is called now and then,
// and at the end.
func (a *API) FlushKeyUse(ctx context.Context) error {
	k := a.keys
	k.mu.Lock()
	used := k.used
	k.used = map[recoup.ID]time.Time{}
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	return k.store.TouchKeys(ctx, used)
}
