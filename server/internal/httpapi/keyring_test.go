package httpapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// fickle is a store that may be away, slow, or know a key no more.
type fickle struct {
	store.KeyReader
	key   wire.Key
	err   error
	takes time.Duration
	asked int
}

func (f *fickle) KeyByHash(ctx context.Context, _ [32]byte, _ bool) (wire.Key, error) {
	f.asked++
	if f.takes > 0 {
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return wire.Key{}, ctx.Err()
		}
	}
	return f.key, f.err
}

var errStoreAway = errors.New("the database is away")

// A key that was looked up within the hour is found while the store is away, for whom a
// stale one will do and for nobody else. What the store has said since counts.
func TestStaleKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fickle{}
		ring := newKeyring(f)
		find := func(stale bool) (*wire.Key, error) {
			defer synctest.Wait()
			return ring.find(t.Context(), [32]byte{1}, time.Now(), stale)
		}
		gone := func(what string, stale bool) {
			t.Helper()
			if key, err := find(stale); err == nil {
				t.Errorf("%s: got %+v", what, key)
			}
		}
		f.err = errStoreAway
		gone("a key that nobody has seen", true)
		f.err = nil
		if _, err := find(true); err != nil {
			t.Fatal(err)
		}
		f.err = errStoreAway
		time.Sleep(keyMemory + keyTimeout)
		gone("away, for what needs the store", false)
		asked := f.asked
		for range 100 {
			if _, err := find(true); err != nil {
				t.Fatal(err)
			}
		}
		if f.asked > asked+1 {
			t.Errorf("the store was asked %d times", f.asked-asked)
		}
		f.takes = time.Hour // packets are lost: nobody waits for each lookup
		time.Sleep(keyMemory)
		if start := time.Now(); true {
			if _, err := find(true); err != nil || time.Since(start) > 0 {
				t.Errorf("a store that does not answer: %v after %v", err, time.Since(start))
			}
		}
		time.Sleep(staleKeys)
		gone("an hour later", true)

		f.err, f.takes = nil, 0
		if _, err := find(true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keyMemory)
		f.key.RevokedAt = time.Now()
		if key, err := find(true); err != nil || key.RevokedAt.IsZero() {
			t.Errorf("revoked: %+v, %v", key, err)
		}
		f.key.RevokedAt = time.Time{}
		time.Sleep(keyMemory)
		_, _ = find(true)
		f.err = errStoreAway
		time.Sleep(keyMemory + keyTimeout)
		_, _ = find(true)
		f.err, f.key.RevokedAt = nil, time.Now() // it is back, and the key is not used for a while
		time.Sleep(staleKeys / 2)
		if key, err := find(true); err != nil || key.RevokedAt.IsZero() {
			t.Errorf("revoked after the store was away: %+v, %v", key, err)
		}
		f.err = errStoreAway
		time.Sleep(keyMemory + keyTimeout)
		if key, err := find(true); err != nil || key.RevokedAt.IsZero() {
			t.Errorf("revoked, and then away: %+v, %v", key, err)
		}
		f.err = sqldb.ErrNotFound
		time.Sleep(keyMemory)
		_, _ = find(true)
		f.err = errStoreAway
		gone("deleted, and then away", true)
	})
}

// A key that was last looked up long ago is looked up for everybody who comes with it, and
// one whose lookups fail is not taken as it was for longer than a lookup may take.
func TestOldKeysAreLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fickle{}
		ring := newKeyring(f)
		find := func() (*wire.Key, error) { return ring.find(t.Context(), [32]byte{1}, time.Now(), false) }
		if _, err := find(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.key.RevokedAt, f.takes = time.Now(), time.Second
		for range 2 {
			go func() {
				if key, err := find(); err != nil || key.RevokedAt.IsZero() {
					t.Errorf("revoked on another node: %+v, %v", key, err)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		f.err, f.takes = errStoreAway, 0
		until := time.Now().Add(keyMemory + keyTimeout)
		for time.Now().Before(until) {
			_, _ = find()
			time.Sleep(time.Second)
		}
		for range 5 {
			if _, err := find(); err == nil {
				t.Error("a key was found without a store")
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}
