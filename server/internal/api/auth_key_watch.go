package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// errKeyEnded is why a long poll or a stream ends: its key was revoked, has expired or is no
// longer what it was.
var errKeyEnded = errors.New("api: the key has ended")

// watch returns a context that ends with the key: revoking it must end its long polls too, or a
// claim that began before would still be handed work. leave is to be called when the caller no
// longer waits.
func (k *keyring) watch(ctx context.Context, key *recoup.Key, now func() time.Time) (_ context.Context, leave func()) {
	return k.watched.Watch(ctx, key.Hash, func(ctx context.Context) error { return k.check(ctx, key, now) })
}

// check returns errKeyEnded for a key that has ended or changed. A store that does not answer
// ends nothing.
func (k *keyring) check(ctx context.Context, watched *recoup.Key, now func() time.Time) error {
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
	return errKeyEnded
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
