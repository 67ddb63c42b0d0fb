package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var platformKeys = sqldb.NewRepository(store.PlatformKeys, "platform key")

// liveKeys are the keys of a purpose, newest first.
const liveKeys = "where purpose = $1 and deleted_at is null order by created_at desc, key_id desc limit $2"

// AddPlatformKey adds a key. An id that was ever used is in conflict.
func (v Ops) AddPlatformKey(ctx context.Context, k store.PlatformKey, by store.Act) error {
	return v.db.Act(ctx, "add a platform key", time.Time{}, func(tx Tx) error { return addPlatformKey(tx, k.Made(by), by) })
}

func addPlatformKey(tx Tx, k store.PlatformKey, by store.Act) error {
	if err := alikeWrapped(tx, k); err != nil {
		return err
	}
	added, err := platformKeys.InsertNew(tx, k)
	if err != nil {
		return err
	}
	if !added {
		return fmt.Errorf("platform key %s: %w", k.ID, store.ErrConflict)
	}
	return audits.Add(tx, by.On(store.ActPlatformKeyAdd, k.ID, map[string]any{"purpose": k.Purpose}))
}

// alikeWrapped refuses a key beside live ones that are wrapped by another. Whoever
// adds or wraps keys meanwhile waits. An id that was used stays in conflict.
func alikeWrapped(tx Tx, k store.PlatformKey) error {
	if err := tx.Acquire(lockPlatformKey, false); err != nil {
		return err
	}
	other, err := platformKeys.Find(tx, "where deleted_at is null and wrapped_by <> $1 limit 1", k.WrappedBy)
	if err == nil && len(other) > 0 {
		err = fmt.Errorf("platform key %s: %w", k.ID, store.ErrOtherWrap)
	}
	return err
}

// AddFirstPlatformKey adds a key unless its purpose has one, and returns the
// newest that there is.
func (v Ops) AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, by store.Act) (newest store.PlatformKey, added bool, err error) {
	newest, err = sqldb.Act(ctx, v.db, "add the first platform key", func(tx Tx) (store.PlatformKey, error) {
		if err := tx.Acquire(lockPlatformKey, false); err != nil {
			return k, err
		}
		present, err := platformKeys.Find(tx, liveKeys, k.Purpose, 1)
		if added = len(present) == 0; err != nil || !added {
			return append(present, k)[0], err
		}
		return k.Made(by), addPlatformKey(tx, k.Made(by), by)
	})
	return newest, added && err == nil, err
}

// PlatformKeys returns the keys of a purpose, newest first.
func (v Ops) PlatformKeys(ctx context.Context, purpose string) ([]store.PlatformKey, error) {
	return platformKeys.List(ctx, v.db, platformKeys.Select("read platform keys", liveKeys, purpose, sqldb.MaxPage))
}

// DeletePlatformKey deletes the secret of a key, for good wherever the database
// can: see [Tx].SecureDelete. What is left elsewhere is encrypted by its owner.
func (v Ops) DeletePlatformKey(ctx context.Context, id string, by store.Act) error {
	return v.db.Act(ctx, "delete a platform key", time.Time{}, func(tx Tx) error {
		k, err := livePlatformKey(tx, id)
		if err != nil {
			return err
		}
		tx.SecureDelete()
		if err := tx.Do("update recoup.platform_key set secret = null, deleted_at = $2 where key_id = $1", id, by.At); err != nil {
			return err
		}
		return audits.Add(tx, by.On(store.ActPlatformKeyDelete, id, map[string]any{"purpose": k.Purpose}))
	})
}

func livePlatformKey(tx Tx, id string) (store.PlatformKey, error) {
	list, err := platformKeys.Find(tx, "where key_id = $1 and deleted_at is null"+tx.Dialect().ForUpdate("no key update"), id)
	return sqldb.One(list, err, platformKeys.Label(id))
}

// WrapPlatformKey replaces the plaintext secret of a key by the same secret, encrypted
// with a key that is kept elsewhere. The plaintext is erased as on deletion.
func (v Ops) WrapPlatformKey(ctx context.Context, k store.PlatformKey, by store.Act) error {
	return v.db.Act(ctx, "wrap a platform key", time.Time{}, func(tx Tx) error {
		if err := alikeWrapped(tx, k); err != nil {
			return err
		}
		current, err := livePlatformKey(tx, k.ID)
		switch {
		case err != nil:
			return err
		case current.WrappedBy != "":
			return fmt.Errorf("platform key %s is wrapped already: %w", k.ID, store.ErrRefused)
		}
		tx.SecureDelete()
		current.Secret, current.WrappedBy = k.Secret, k.WrappedBy
		if err := platformKeys.Update(tx, current); err != nil {
			return err
		}
		about := map[string]any{"purpose": current.Purpose, "wrapped_by": k.WrappedBy}
		return audits.Add(tx, by.On(store.ActPlatformKeyWrap, k.ID, about))
	})
}
