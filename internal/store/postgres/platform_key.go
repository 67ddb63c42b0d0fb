package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// selectPlatformKeys reads the keys of a purpose, newest first.
var selectPlatformKeys = "select " + names(platformKeyColumns, "") + ` from recoup.platform_key
	where purpose = $1 and deleted_at is null order by created_at desc, key_id desc limit $2`

// AddPlatformKey adds a key. An id that was ever used is in conflict.
func (s *Store) AddPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error {
	return s.transact(ctx, "add a platform key", time.Time{}, func(t *tx) error {
		return addPlatformKey(ctx, t, k.Made(act), act)
	})
}

// alikeWrapped refuses a key beside live ones that are wrapped by another. Whoever
// adds or wraps keys meanwhile waits.
func alikeWrapped(ctx context.Context, t *tx, k store.PlatformKey) error {
	var other []bool
	t.queue("select pg_advisory_xact_lock($1, $2)", serviceLock, lockPlatformKey)
	collect(t.queue("select exists (select from recoup.platform_key where deleted_at is null and wrapped_by <> $1)", k.WrappedBy), pgx.RowTo[bool], &other)
	if err := t.send(ctx); err != nil {
		return err
	}
	if other[0] {
		return fmt.Errorf("platform key %s: %w", k.ID, store.ErrOtherWrap)
	}
	return nil
}

func addPlatformKey(ctx context.Context, t *tx, k store.PlatformKey, act store.Act) error {
	if err := alikeWrapped(ctx, t, k); err != nil {
		return err
	}
	var added []string
	b := newBatch(platformKeyColumns, []*store.PlatformKey{&k})
	collect(t.queue(b.insert("recoup.platform_key")+" on conflict do nothing returning key_id", b.args...), pgx.RowTo[string], &added)
	if err := t.send(ctx); err != nil {
		return err
	}
	if len(added) == 0 {
		return fmt.Errorf("platform key %s: %w", k.ID, store.ErrConflict)
	}
	audit(t, act.On(store.ActPlatformKeyAdd, k.ID, map[string]any{"purpose": k.Purpose}))
	return nil
}

// AddFirstPlatformKey adds a key unless its purpose has one, and returns the
// newest that there is.
func (s *Store) AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (newest store.PlatformKey, added bool, err error) {
	err = s.transact(ctx, "add the first platform key", time.Time{}, func(t *tx) error {
		var present []store.PlatformKey
		t.queue("select pg_advisory_xact_lock($1, $2)", serviceLock, lockPlatformKey)
		collect(t.queue(selectPlatformKeys, k.Purpose, 1), decode(platformKeyColumns), &present)
		if err := t.send(ctx); err != nil {
			return err
		}
		if added = len(present) == 0; !added {
			newest = present[0]
			return nil
		}
		newest = k.Made(act)
		return addPlatformKey(ctx, t, newest, act)
	})
	if err != nil {
		return store.PlatformKey{}, false, err
	}
	return newest, added, nil
}

// PlatformKeys returns the keys of a purpose, newest first.
func (s *Store) PlatformKeys(ctx context.Context, purpose string) ([]store.PlatformKey, error) {
	rows, err := s.pool.Query(ctx, selectPlatformKeys, purpose, store.MaxPage)
	return collectRows("read platform keys", rows, err, decode(platformKeyColumns))
}

// DeletePlatformKey deletes the secret of a key. PostgreSQL keeps the old version
// of the row until it is vacuumed, and in its log and backups as long as those
// are kept; what is there is sealed by its owner.
func (s *Store) DeletePlatformKey(ctx context.Context, id string, act store.Act) error {
	return s.transact(ctx, "delete a platform key", time.Time{}, func(t *tx) error {
		var purposes []string
		collect(t.queue(`update recoup.platform_key set secret = null, deleted_at = $2
			where key_id = $1 and deleted_at is null returning purpose`, id, act.At), pgx.RowTo[string], &purposes)
		if err := t.send(ctx); err != nil {
			return err
		}
		purpose, err := one(purposes, nil, "platform key "+id)
		if err != nil {
			return err
		}
		audit(t, act.On(store.ActPlatformKeyDelete, id, map[string]any{"purpose": purpose}))
		return nil
	})
}

// WrapPlatformKey puts the secret of a bare key, sealed by a key that is kept
// elsewhere, in place of what it was.
func (s *Store) WrapPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error {
	return s.transact(ctx, "wrap a platform key", time.Time{}, func(t *tx) error {
		if err := alikeWrapped(ctx, t, k); err != nil {
			return err
		}
		var purposes []string
		var known []bool
		collect(t.queue(`update recoup.platform_key set secret = $2, wrapped_by = nullif($3, '')
			where key_id = $1 and deleted_at is null and wrapped_by is null returning purpose`, k.ID, k.Secret, k.WrappedBy), pgx.RowTo[string], &purposes)
		collect(t.queue("select exists (select from recoup.platform_key where key_id = $1 and deleted_at is null)", k.ID), pgx.RowTo[bool], &known)
		if err := t.send(ctx); err != nil {
			return err
		}
		if len(purposes) == 0 && known[0] {
			return fmt.Errorf("platform key %s is wrapped already: %w", k.ID, store.ErrRefused)
		}
		purpose, err := one(purposes, nil, "platform key "+k.ID)
		if err != nil {
			return err
		}
		audit(t, act.On(store.ActPlatformKeyWrap, k.ID, map[string]any{"purpose": purpose, "wrapped_by": k.WrappedBy}))
		return nil
	})
}
