package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"recoup"
	"recoup/internal/store"
)

const (
	selectKey     = `select ` + keyColumns + ` from api_key`
	selectKeyOf   = selectKey + ` where key_id = ?`
	selectKeyHash = selectKey + ` where key_hash = ?`
	selectKeys    = selectKey + ` where (created_at, key_id) < (?, ?) order by created_at desc, key_id desc limit 0 + ?`
	keyKnown      = `select exists (select 1 from api_key where key_id = ?1 or key_hash = ?2)`
	updateKey     = `update api_key set expires_at = ?2, revoked_at = ?3, revoked_by = ?4, rotated_to = ?5 where key_id = ?1`
	touchKey      = `update api_key set last_used_at = ?2 where key_id = ?1 and (last_used_at is null or last_used_at < ?2)`
)

var insertKey = addTo("api_key", keyColumns)

// CreateKey adds a key.
func (s *Store) CreateKey(ctx context.Context, k store.Key, act store.Act) (store.Key, error) {
	k = k.Made(act)
	return k, s.writer.do(ctx, func(tx *tx) error {
		return tx.addKey(k, act.On(store.ActKeyCreate, k.ID.String(), k.About()))
	})
}

// addKey adds a key and tells of the act. An id or a secret that is known is in
// conflict.
func (t *tx) addKey(k store.Key, entry store.AuditEntry) error {
	var known bool
	if err := t.row(keyKnown, id{&k.ID}, hash{&k.Hash}).Scan(&known); err != nil {
		return err
	}
	if known {
		return fmt.Errorf("key %v: %w", k.ID, store.ErrConflict)
	}
	if err := t.exec(insertKey, keyFields(&k)...); err != nil {
		return err
	}
	return t.audit(entry)
}

// CreateFirstKey adds a key if there is none at all.
func (s *Store) CreateFirstKey(ctx context.Context, k store.Key, act store.Act) (created bool, err error) {
	k = k.Made(act)
	err = s.writer.do(ctx, func(tx *tx) error {
		var some bool
		if err := tx.row(`select exists (select 1 from api_key)`).Scan(&some); err != nil {
			return err
		}
		if created = !some; some {
			return nil
		}
		return tx.addKey(k, act.On(store.ActKeyCreate, k.ID.String(), k.About()))
	})
	return created && err == nil, err
}

// KeyByHash returns the key of a secret.
func (s *Store) KeyByHash(ctx context.Context, secret [32]byte) (store.Key, error) {
	list, err := query(ctx, s, keyFields, selectKeyHash, hash{&secret})
	return one(list, err, "key")
}

// Keys lists keys, newest first. A first cursor lies behind everything.
func (s *Store) Keys(ctx context.Context, p store.Page) ([]store.Key, store.Cursor, error) {
	list, err := query(ctx, s, keyFields, selectKeys, from(p.Cursor.At, math.MaxInt64), p.Cursor.ID[:], p.Size())
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.CreatedAt, ID: last.ID}, nil
}

// RevokeKey ends a key for good, and returns it. One that is revoked stays as it
// is.
func (s *Store) RevokeKey(ctx context.Context, keyID recoup.ID, act store.Act) (k store.Key, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		current, err := tx.key(keyID)
		if err != nil {
			return err
		}
		if k = current.Revoked(act); k.RevokedAt == current.RevokedAt {
			return nil
		}
		if err := tx.setKey(k); err != nil {
			return err
		}
		return tx.audit(act.On(store.ActKeyRevoke, keyID.String(), map[string]any{"name": k.Name}))
	})
	return k, err
}

func (t *tx) key(keyID recoup.ID) (store.Key, error) {
	list, err := collectAll(t, keyFields, selectKeyOf, id{&keyID})
	return one(list, err, "key "+keyID.String())
}

func (t *tx) setKey(k store.Key) error {
	return t.exec(updateKey, id{&k.ID}, stamp{&k.ExpiresAt}, stamp{&k.RevokedAt}, text[string]{&k.RevokedBy}, id{&k.RotatedTo})
}

// RotateKey adds a key that takes over from another, which lasts until a time.
func (s *Store) RotateKey(ctx context.Context, old recoup.ID, next store.Key, oldEnds time.Time, act store.Act) (store.Key, error) {
	next = next.Made(act)
	return next, s.writer.do(ctx, func(tx *tx) error {
		current, err := tx.key(old)
		if err != nil {
			return err
		}
		k, err := current.Rotated(next.ID, oldEnds)
		if err != nil {
			return fmt.Errorf("key %v: %w", old, err)
		}
		about := next.About()
		about["to"] = next.ID.String()
		if err := tx.addKey(next, act.On(store.ActKeyRotate, old.String(), about)); err != nil {
			return err
		}
		return tx.setKey(k)
	})
}

// TouchKeys notes when keys were used last.
func (s *Store) TouchKeys(ctx context.Context, used map[recoup.ID]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return s.writer.do(ctx, func(tx *tx) error {
		for keyID, at := range used {
			if err := tx.exec(touchKey, id{&keyID}, micros(at)); err != nil {
				return err
			}
		}
		return nil
	})
}
