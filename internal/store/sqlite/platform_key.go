package sqlite

import (
	"context"
	"fmt"

	"recoup/internal/store"
)

const (
	selectPlatformKeys = `select ` + platformKeyColumns + ` from platform_key
		where purpose = ? and deleted_at is null order by created_at desc, key_id desc limit 0 + ?`
	platformKeyKnown  = `select exists (select 1 from platform_key where key_id = ?)`
	platformKeyLive   = `select exists (select 1 from platform_key where key_id = ? and deleted_at is null)`
	platformKeyOther  = `select exists (select 1 from platform_key where deleted_at is null and wrapped_by <> ?)`
	wrapPlatformKey   = `update platform_key set secret = ?2, wrapped_by = ?3 where key_id = ?1 and deleted_at is null and wrapped_by is null returning purpose`
	deletePlatformKey = `update platform_key set secret = null, deleted_at = ?2 where key_id = ?1 and deleted_at is null returning purpose`
)

// AddPlatformKey adds a key. An id that was ever used is in conflict.
func (s *Store) AddPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error {
	return s.writer.do(ctx, func(tx *tx) error { return tx.addPlatformKey(k.Made(act), act) })
}

func (t *tx) addPlatformKey(k store.PlatformKey, act store.Act) error {
	var known bool
	if err := t.row(platformKeyKnown, k.ID).Scan(&known); err != nil {
		return err
	}
	if known {
		return fmt.Errorf("platform key %s: %w", k.ID, store.ErrConflict)
	}
	if err := t.alikeWrapped(k); err != nil {
		return err
	}
	if err := t.exec(addTo("platform_key", platformKeyColumns), platformKeyFields(&k)...); err != nil {
		return err
	}
	return t.audit(act.On(store.ActPlatformKeyAdd, k.ID, map[string]any{"purpose": k.Purpose}))
}

// alikeWrapped refuses a key beside live ones that are wrapped by another.
func (t *tx) alikeWrapped(k store.PlatformKey) error {
	var other bool
	if err := t.row(platformKeyOther, k.WrappedBy).Scan(&other); err != nil {
		return err
	}
	if other {
		return fmt.Errorf("platform key %s: %w", k.ID, store.ErrOtherWrap)
	}
	return nil
}

// AddFirstPlatformKey adds a key unless its purpose has one, and returns the
// newest that there is.
func (s *Store) AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (newest store.PlatformKey, added bool, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		present, err := collectAll(tx, platformKeyFields, selectPlatformKeys, k.Purpose, 1)
		if err != nil {
			return err
		}
		if added = len(present) == 0; !added {
			newest = present[0]
			return nil
		}
		newest = k.Made(act)
		return tx.addPlatformKey(newest, act)
	})
	if err != nil {
		return store.PlatformKey{}, false, err
	}
	return newest, added, nil
}

// PlatformKeys returns the keys of a purpose, newest first.
func (s *Store) PlatformKeys(ctx context.Context, purpose string) ([]store.PlatformKey, error) {
	return query(ctx, s, platformKeyFields, selectPlatformKeys, purpose, store.MaxPage)
}

// DeletePlatformKey deletes the secret of a key, for good: the writer overwrites
// what it deletes, and empties the write-ahead log, where the page was, before it
// answers. Where a reader is in the way of that, it is done after a later commit,
// or when the file is closed.
func (s *Store) DeletePlatformKey(ctx context.Context, keyID string, act store.Act) error {
	return s.writer.do(ctx, func(tx *tx) error {
		purposes, err := collectAll(tx, func(p *string) []any { return []any{p} }, deletePlatformKey, keyID, micros(act.At))
		purpose, err := one(purposes, err, "platform key "+keyID)
		if err != nil {
			return err
		}
		tx.shred = true
		return tx.audit(act.On(store.ActPlatformKeyDelete, keyID, map[string]any{"purpose": purpose}))
	})
}

// WrapPlatformKey puts the secret of a bare key, sealed by a key that is kept
// elsewhere, in place of what it was, which is overwritten as that of a deleted key is.
func (s *Store) WrapPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error {
	return s.writer.do(ctx, func(tx *tx) error {
		if err := tx.alikeWrapped(k); err != nil {
			return err
		}
		var live bool
		if err := tx.row(platformKeyLive, k.ID).Scan(&live); err != nil {
			return err
		}
		purposes, err := collectAll(tx, func(p *string) []any { return []any{p} }, wrapPlatformKey, k.ID, k.Secret, text[string]{&k.WrappedBy})
		if err == nil && len(purposes) == 0 && live {
			return fmt.Errorf("platform key %s is wrapped already: %w", k.ID, store.ErrRefused)
		}
		purpose, err := one(purposes, err, "platform key "+k.ID)
		if err != nil {
			return err
		}
		tx.shred = true
		return tx.audit(act.On(store.ActPlatformKeyWrap, k.ID, map[string]any{"purpose": purpose, "wrapped_by": k.WrappedBy}))
	})
}
