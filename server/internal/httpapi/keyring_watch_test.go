package httpapi

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// oneKey answers about a key, which may be revoked.
type oneKey struct {
	store.KeyReader

	revoked atomic.Bool
	asked   atomic.Int64
}

func (k *oneKey) KeyByHash(context.Context, [32]byte, bool) (wire.Key, error) {
	k.asked.Add(1)
	key := wire.Key{ExpiresAt: time.Now().Add(time.Hour)}
	if k.revoked.Load() {
		key.RevokedAt = time.Now()
	}
	return key, nil
}

// A change of keys on this node ends the long polls of a revoked key at once; one on
// another node does at the next look. A key that holds keeps its polls through both.
func TestWatchLooksAtOnceWhenKeysChangeHere(t *testing.T) {
	t.Parallel()
	for name, here := range map[string]bool{"here": true, "elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys := &oneKey{}
				ring := newKeyring(keys)
				ctx, leave := ring.watch(t.Context(), &wire.Key{}, time.Now)
				defer leave()
				ring.forget() // of another key's change
				synctest.Wait()
				if ctx.Err() != nil || keys.asked.Load() != 1 {
					t.Fatalf("a key that holds: %v after %d looks", context.Cause(ctx), keys.asked.Load())
				}
				start := time.Now()
				keys.revoked.Store(true)
				if here {
					ring.forget()
				}
				<-ctx.Done()
				late := time.Since(start)
				if !errors.Is(context.Cause(ctx), ErrKeyEnded) || here && late != 0 || !here && (late == 0 || late > keyMemory) {
					t.Errorf("ended after %s: %v", late, context.Cause(ctx))
				}
			})
		})
	}
}
