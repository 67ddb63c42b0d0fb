package httpapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/stream"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// keyring remembers keys for a few seconds, so that a request costs no query. A
// key that is revoked on another node works that long at most.
type keyring struct {
	store store.KeyReader

	mu      sync.Mutex
	known   map[[32]byte]remembered
	seen    map[[32]byte]bool      // hashes of keys, whatever has become of them
	unknown map[[32]byte]time.Time // hashes of no key, until when that is remembered
	running map[[32]byte]*lookup
	watched stream.Credentials
	used    map[recoup.ID]time.Time
	changes int // how often keys have changed
}

type remembered struct {
	key   *wire.Key
	until time.Time
	at    time.Time // when the store said so
	again time.Time // when the store is asked again, which could not answer; zero: it could
}

// lookup is a question to the store, for all who ask it at the same time.
type lookup struct {
	done chan struct{}
	key  wire.Key
	err  error
}

const (
	keyMemory  = 3 * time.Second
	keyTimeout = 5 * time.Second // of a lookup
	maxKnown   = 10000           // keys that are remembered, and hashes of no key

	// staleKeys is how long after its last lookup a key still opens the ledger for events,
	// where the store cannot be asked: the bus takes them, or the ledger's buffer. A revocation takes effect on a
	// node when it reaches the store again, within keyMemory.
	staleKeys = time.Hour

	// MaxLookups is how many keys are looked up at once. Whoever has no key can
	// make up as many as they like: they must not take the database from others.
	MaxLookups = 64
)

// errNoKey is the answer to a hash that was of no key a moment ago.
var errNoKey = fmt.Errorf("key: %w", sqldb.ErrNotFound)

func newKeyring(s store.KeyReader) *keyring {
	return &keyring{
		store: s, known: map[[32]byte]remembered{}, seen: map[[32]byte]bool{}, unknown: map[[32]byte]time.Time{}, running: map[[32]byte]*lookup{}, used: map[recoup.ID]time.Time{},
	}
}

// find returns a key. Whoever asks for stale keys gets one that the store cannot be asked
// for at once, as it was last known; the store is asked meanwhile.
func (k *keyring) find(ctx context.Context, hash [32]byte, now time.Time, stale bool) (*wire.Key, error) {
	k.mu.Lock()
	found, known := k.known[hash]
	if known && now.Before(found.until) {
		k.mu.Unlock()
		return found.key, nil
	}
	if now.Before(k.unknown[hash]) {
		k.mu.Unlock()
		return nil, errNoKey
	}
	away := stale && found.away(now) && now.Before(found.again.Add(keyMemory+keyTimeout)) // else it may be back
	l, runs := k.running[hash]
	switch {
	case runs, away && now.Before(found.again):
	case !known && len(k.running) >= MaxLookups:
		k.mu.Unlock()
		return nil, fault.New(fault.CodeServiceOverloaded, "Too many keys that were not seen lately are being looked up.").After(time.Second)
	default:
		l = &lookup{done: make(chan struct{})}
		k.running[hash] = l
		if known && now.Sub(found.at) < keyMemory+keyTimeout { // until it is looked up, the others take it as it was
			found.until = now.Add(keyMemory)
			k.known[hash] = found
		}
		go k.lookUp(context.WithoutCancel(ctx), l, hash, now, k.changes, k.seen[hash])
	}
	k.mu.Unlock()
	if away {
		return found.key, nil
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.err != nil && stale {
		if known := k.lately(hash, now); known != nil {
			return known, nil
		}
	}
	return &l.key, l.err
}

// away reports whether the store could not be asked for a key that it knew lately.
func (r remembered) away(now time.Time) bool {
	return !r.again.IsZero() && now.Sub(r.at) < staleKeys
}

// knows reports whether a key was valid when it was last looked up, however long ago.
// A request with any other may be a guess.
func (k *keyring) knows(hash [32]byte, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, known := k.known[hash]
	return known && found.key.Valid(now)
}

// lately returns a key as the store last knew it, if the store cannot be asked; nil: that
// was too long ago, or it can.
func (k *keyring) lately(hash [32]byte, now time.Time) *wire.Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, known := k.known[hash]; known && found.away(now) {
		return found.key
	}
	return nil
}

// lookUp asks the store, and remembers what it says unless keys have changed
// meanwhile. Only for a key that was there before are reserved connections used.
func (k *keyring) lookUp(ctx context.Context, l *lookup, hash [32]byte, now time.Time, changes int, seen bool) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	l.key, l.err = k.store.KeyByHash(ctx, hash, seen)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[hash] == l {
		delete(k.running, hash)
	}
	if l.err == nil {
		if len(k.seen) >= maxKnown {
			clear(k.seen)
		}
		k.seen[hash] = true
	}
	found, known := k.known[hash]
	switch {
	case k.changes != changes:
		return
	case errors.Is(l.err, sqldb.ErrNotFound):
		delete(k.known, hash)
		if len(k.unknown) >= maxKnown {
			clear(k.unknown)
		}
		k.unknown[hash] = now.Add(keyMemory)
		return
	case l.err != nil:
		if known {
			found.again = now.Add(keyMemory)
			k.known[hash] = found
		}
		return
	}
	if len(k.known) >= maxKnown {
		clear(k.known)
	}
	k.known[hash] = remembered{key: &l.key, until: now.Add(keyMemory), at: now}
}

// forget makes a change of keys take effect on this node at once.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	clear(k.known)
	clear(k.unknown)
	clear(k.running) // who asks from now on must not hear what was true before
	k.watched.Recheck()
}

// touch notes that a key was used.
func (k *keyring) touch(id recoup.ID, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used[id] = now
}

// FlushKeyUse writes down when keys were last used. It is called now and then,
// and at the end.
func (s *Server) FlushKeyUse(ctx context.Context) error {
	k := s.keys
	k.mu.Lock()
	used := k.used
	k.used = map[recoup.ID]time.Time{}
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	return k.store.TouchKeys(ctx, used)
}

// ForgetKeys makes a change of keys take effect on this node at once.
func (s *Server) ForgetKeys() { s.keys.forget() }

// ErrKeyEnded ends a long poll or a stream whose key was revoked, has expired or was changed.
var ErrKeyEnded = errors.New("httpapi: the key has ended")

// watch returns a context that ends with the key: revoking it must end its long polls too, or a
// claim that began before would still be handed work. leave is to be called when the caller no
// longer waits.
func (k *keyring) watch(ctx context.Context, key *wire.Key, now func() time.Time) (_ context.Context, leave func()) {
	return k.watched.Watch(ctx, key.Hash, func(ctx context.Context) error { return k.check(ctx, key, now) })
}

// check returns errKeyEnded for a key that has ended or changed. A store that does not answer
// ends nothing.
func (k *keyring) check(ctx context.Context, watched *wire.Key, now func() time.Time) error {
	hash := watched.Hash
	key, err := k.store.KeyByHash(ctx, hash, true)
	if err != nil && !errors.Is(err, sqldb.ErrNotFound) || err == nil && key.Valid(now()) && key.Role == watched.Role && slices.Equal(key.Hubs, watched.Hubs) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++ // a look that began before must not bring the key back
	delete(k.known, hash)
	delete(k.running, hash)
	return ErrKeyEnded
}

// WatchKey returns a context that ends, with ErrKeyEnded as its cause, when the key of the
// call ends. leave is to be called when the caller no longer waits.
func (c *Call) WatchKey() (_ context.Context, leave func()) {
	if c.Key == nil {
		return c.Context(), func() {}
	}
	return c.server.keys.watch(c.Context(), c.Key, c.server.Now)
}

// Poll runs a claim for as long as the caller's key is valid. A claim that ends empty because
// its key ended gets the answer of a call without a valid key.
func Poll[T any](c *Call, claim func(context.Context) ([]T, error)) ([]T, error) {
	ctx, leave := c.WatchKey()
	defer leave()
	claimed, err := claim(ctx)
	if len(claimed) == 0 && errors.Is(context.Cause(ctx), ErrKeyEnded) {
		c.Now = c.server.Now()
		if _, refused := c.server.authenticate(c); refused != nil {
			return nil, refused
		}
	}
	return claimed, err
}
