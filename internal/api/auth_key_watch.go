package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"recoup"
	"recoup/internal/store"
)

// errKeyEnded is why a long poll or a stream ends: its key was revoked, has expired or is no
// longer what it was.
var errKeyEnded = errors.New("api: the key has ended")

// keyWatch looks after a key for as long as it has long polls: revoking it must end
// them too, or a claim that began before would still be handed work.
type keyWatch struct {
	polls int             // how many wait
	again chan struct{}   // keys have changed on this node
	ctx   context.Context // ends with the key, or when nothing waits any more
	end   context.CancelCauseFunc
}

// watch returns a context that ends with the key. leave is to be called when the
// caller no longer waits.
func (k *keyring) watch(ctx context.Context, key *recoup.Key, now func() time.Time) (_ context.Context, leave func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.watched[key.Hash]
	if w == nil {
		w = &keyWatch{again: make(chan struct{}, 1)}
		w.ctx, w.end = context.WithCancelCause(context.WithoutCancel(ctx))
		k.watched[key.Hash] = w
		go k.look(w, key, now)
	}
	w.polls++
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		k.unwatch(w, key.Hash)
	}
}

func (k *keyring) unwatch(w *keyWatch, hash [32]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.polls--; w.polls == 0 {
		w.end(nil)
		if k.watched[hash] == w {
			delete(k.watched, hash)
		}
	}
}

// look asks the store about a key when keys have changed on this node, and every few
// seconds in case they have on another. A store that does not answer ends nothing.
func (k *keyring) look(w *keyWatch, watched *recoup.Key, now func() time.Time) {
	hash := watched.Hash
	tick := time.NewTicker(keyMemory)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.again:
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(w.ctx, keyTimeout)
		key, err := k.store.KeyByHash(ctx, hash, true)
		cancel()
		if errors.Is(err, store.ErrNotFound) || err == nil && (!key.Valid(now()) || key.Role != watched.Role || !slices.Equal(key.Hubs, watched.Hubs)) {
			k.mu.Lock()
			k.changes++ // a look that began before must not bring the key back
			delete(k.known, hash)
			delete(k.running, hash)
			delete(k.watched, hash)
			k.mu.Unlock()
			w.end(errKeyEnded)
			return
		}
	}
}

// recheck makes every watch look at once. The caller holds the lock.
func (k *keyring) recheck() {
	for _, w := range k.watched {
		select {
		case w.again <- struct{}{}:
		default: // it is about to look anyway
		}
	}
}

// poll runs a claim for as long as the caller's key holds. One that ends empty
// because its key did is answered as any call with that key now is.
func poll[T any](a *API, c *call, claim func(context.Context) ([]T, error)) ([]T, error) {
	if c.key == nil {
		return claim(c.r.Context())
	}
	ctx, leave := a.keys.watch(c.r.Context(), c.key, a.Now)
	defer leave()
	claimed, err := claim(ctx)
	if len(claimed) == 0 && errors.Is(context.Cause(ctx), errKeyEnded) {
		c.now = a.Now()
		if _, refused := a.authenticate(c); refused != nil {
			return nil, refused
		}
	}
	return claimed, err
}
