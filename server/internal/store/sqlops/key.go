package sqlops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var keys = sqldb.NewRepository(store.Keys, "key")

// CreateKey adds a key. Nobody who adds the first one can be at it meanwhile.
func (v Ops) CreateKey(ctx context.Context, k wire.Key, by store.Act) (wire.Key, error) {
	k = by.CreateKey(k)
	return sqldb.Act(ctx, v.db, "create a key", func(tx Tx) (wire.Key, error) {
		if err := tx.Acquire(lockFirstKey, true); err != nil {
			return k, err
		}
		return k, addKey(tx, k, by.On(store.ActKeyCreate, k.ID.String(), store.AboutKey(&k)))
	})
}

// addKey adds a key and records the act. An id or a secret that is known is in
// conflict.
func addKey(tx Tx, k wire.Key, entry wire.AuditEntry) error {
	added, err := keys.InsertNew(tx, k)
	if err != nil {
		return err
	}
	if !added {
		return fmt.Errorf("key %v: %w", k.ID, store.ErrConflict)
	}
	return audits.Add(tx, entry)
}

// CreateFirstKey adds a key if there is none at all.
func (v Ops) CreateFirstKey(ctx context.Context, k wire.Key, by store.Act) (created bool, err error) {
	k = by.CreateKey(k)
	return sqldb.Act(ctx, v.db, "create the first key", func(tx Tx) (bool, error) {
		if err := tx.Acquire(lockFirstKey, false); err != nil {
			return false, err
		}
		some, err := keys.Find(tx, "limit 1")
		if err != nil || len(some) > 0 {
			return false, err
		}
		return true, addKey(tx, k, by.On(store.ActKeyCreate, k.ID.String(), store.AboutKey(&k)))
	})
}

// KeyByHash returns the key of a secret.
func (v Ops) KeyByHash(ctx context.Context, hash [32]byte, known bool) (wire.Key, error) {
	q := keys.Select("read a key", "where key_hash = $1", hash)
	q.Vital = known
	return keys.Get(ctx, v.db, q, "")
}

// Keys lists keys, newest first.
func (v Ops) Keys(ctx context.Context, p sqldb.Page) ([]wire.Key, sqldb.Cursor, error) {
	q := keys.Select("list keys", "where true").Newest("created_at", "key_id", p)
	return keys.Page(ctx, v.db, q, p, func(k *wire.Key) sqldb.Cursor { return sqldb.Cursor{At: k.CreatedAt, ID: k.ID} })
}

// RevokeKey ends a key for good, and returns it. One that is revoked stays as it
// is.
func (v Ops) RevokeKey(ctx context.Context, id recoup.ID, by store.Act) (wire.Key, error) {
	return sqldb.Act(ctx, v.db, "revoke a key", func(tx Tx) (wire.Key, error) {
		current, err := keys.Lock(tx, id, id.String())
		if err != nil {
			return current, err
		}
		k := by.RevokeKey(current)
		if k.RevokedAt.Equal(current.RevokedAt) {
			return k, nil
		}
		if err := keys.Update(tx, k); err != nil {
			return k, err
		}
		return k, audits.Add(tx, by.On(store.ActKeyRevoke, id.String(), map[string]any{"name": k.Name}))
	})
}

// RotateKey adds a key that takes over from another, which lasts until a time.
func (v Ops) RotateKey(ctx context.Context, old recoup.ID, next wire.Key, oldEnds time.Time, by store.Act) (wire.Key, error) {
	next = by.CreateKey(next)
	return sqldb.Act(ctx, v.db, "rotate a key", func(tx Tx) (wire.Key, error) {
		current, err := keys.Lock(tx, old, old.String())
		if err != nil {
			return next, err
		}
		k, err := store.RotateKey(current, next.ID, oldEnds)
		if err != nil {
			return next, fmt.Errorf("key %v: %w", old, err)
		}
		about := store.AboutKey(&next)
		about["to"] = next.ID.String()
		if err := addKey(tx, next, by.On(store.ActKeyRotate, old.String(), about)); err != nil {
			return next, err
		}
		return next, keys.Update(tx, k)
	})
}

// TouchKeys notes when keys were used last. Rows are written in the order of their
// ids, so that nodes do not wait for each other crosswise.
func (v Ops) TouchKeys(ctx context.Context, used map[recoup.ID]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(used), func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
	each := make([][]any, len(ids))
	for i, id := range ids {
		each[i] = []any{id, used[id]}
	}
	_, err := sqldb.Act(ctx, v.db, "touch keys", func(tx Tx) (int, error) {
		return tx.Change(`update recoup.api_key set last_used_at = $2
			where key_id = $1 and (last_used_at is null or last_used_at < $2)`, each...)
	})
	return err
}
