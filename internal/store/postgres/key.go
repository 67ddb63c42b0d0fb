package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// serviceLock is the class of advisory locks that make firsts the first: of keys,
// of policies, and of platform keys.
const (
	serviceLock     = 20260208
	lockFirstKey    = 1
	lockPolicy      = 2
	lockPlatformKey = 3
)

var selectKey = "select " + names(keyColumns, "") + " from recoup.api_key"

// CreateKey adds a key. Nobody who adds the first one can be at it meanwhile.
func (s *Store) CreateKey(ctx context.Context, k store.Key, act store.Act) (store.Key, error) {
	k = k.Made(act)
	return k, s.transact(ctx, "create a key", time.Time{}, func(t *tx) error {
		t.queue("select pg_advisory_xact_lock_shared($1, $2)", serviceLock, lockFirstKey)
		return addKey(ctx, t, k, act.On(store.ActKeyCreate, k.ID.String(), k.About()))
	})
}

// addKey adds a key and tells of the act. An id or a secret that is known is in
// conflict.
func addKey(ctx context.Context, t *tx, k store.Key, entry store.AuditEntry) error {
	added, err := insertKey(ctx, t, k, " on conflict do nothing")
	if err != nil {
		return err
	}
	if !added {
		return fmt.Errorf("key %v: %w", k.ID, store.ErrConflict)
	}
	audit(t, entry)
	return nil
}

// insertKey reports whether the statement, with what it ends in, has added the
// key.
func insertKey(ctx context.Context, t *tx, k store.Key, end string) (bool, error) {
	var added []recoup.ID
	b := newBatch(keyColumns, []*store.Key{&k})
	collect(t.queue(b.insert("recoup.api_key")+end+" returning key_id", b.args...), pgx.RowTo[recoup.ID], &added)
	err := t.send(ctx)
	return len(added) == 1, err
}

// CreateFirstKey adds a key if there is none at all.
func (s *Store) CreateFirstKey(ctx context.Context, k store.Key, act store.Act) (created bool, err error) {
	k = k.Made(act)
	err = s.transact(ctx, "create the first key", time.Time{}, func(t *tx) error {
		t.queue("select pg_advisory_xact_lock($1, $2)", serviceLock, lockFirstKey)
		if err := t.send(ctx); err != nil { // what others have added is seen by the next statement
			return err
		}
		created, err = insertKey(ctx, t, k, " where not exists (select from recoup.api_key)")
		if created {
			audit(t, act.On(store.ActKeyCreate, k.ID.String(), k.About()))
		}
		return err
	})
	return created && err == nil, err
}

// KeyByHash returns the key of a secret.
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (store.Key, error) {
	rows, err := s.vital.Query(ctx, selectKey+" where key_hash = $1", hash[:])
	list, err := collectRows("read a key", rows, err, decode(keyColumns))
	return one(list, err, "key")
}

// Keys lists keys, newest first.
func (s *Store) Keys(ctx context.Context, p store.Page) ([]store.Key, store.Cursor, error) {
	q := &query{}
	q.add(selectKey + " where true")
	if !p.Cursor.IsZero() {
		q.add(" and (created_at, key_id) < (" + q.arg(p.Cursor.At) + ", " + q.arg(p.Cursor.ID[:]) + ")")
	}
	q.add(" order by created_at desc, key_id desc limit " + q.arg(p.Size()))
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list keys", rows, err, decode(keyColumns))
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.CreatedAt, ID: last.ID}, nil
}

// RevokeKey ends a key for good, and returns it. One that is revoked stays as it
// is.
func (s *Store) RevokeKey(ctx context.Context, id recoup.ID, act store.Act) (k store.Key, err error) {
	err = s.transact(ctx, "revoke a key", time.Time{}, func(t *tx) error {
		current, err := lockKey(ctx, t, id)
		if err != nil {
			return err
		}
		if k = current.Revoked(act); k.RevokedAt != current.RevokedAt {
			setRows(t, "recoup.api_key", keyColumns, []store.Key{k})
			audit(t, act.On(store.ActKeyRevoke, id.String(), map[string]any{"name": k.Name}))
		}
		return nil
	})
	return k, err
}

func lockKey(ctx context.Context, t *tx, id recoup.ID) (store.Key, error) {
	var found []store.Key
	collect(t.queue(selectKey+" where key_id = $1 for no key update", id[:]), decode(keyColumns), &found)
	return one(found, t.send(ctx), "key "+id.String())
}

// RotateKey adds a key that takes over from another, which lasts until a time.
func (s *Store) RotateKey(ctx context.Context, old recoup.ID, next store.Key, oldEnds time.Time, act store.Act) (store.Key, error) {
	next = next.Made(act)
	return next, s.transact(ctx, "rotate a key", time.Time{}, func(t *tx) error {
		current, err := lockKey(ctx, t, old)
		if err != nil {
			return err
		}
		k, err := current.Rotated(next.ID, oldEnds)
		if err != nil {
			return fmt.Errorf("key %v: %w", old, err)
		}
		about := next.About()
		about["to"] = next.ID.String()
		if err := addKey(ctx, t, next, act.On(store.ActKeyRotate, old.String(), about)); err != nil {
			return err
		}
		setRows(t, "recoup.api_key", keyColumns, []store.Key{k})
		return nil
	})
}

// TouchKeys notes when keys were used last. Rows are locked in the order of
// their ids, so that nodes do not wait for each other crosswise.
func (s *Store) TouchKeys(ctx context.Context, used map[recoup.ID]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(used), func(a, b recoup.ID) int { return slices.Compare(a[:], b[:]) })
	times := make([]time.Time, len(ids))
	for i, id := range ids {
		times[i] = used[id]
	}
	return s.transact(ctx, "touch keys", time.Time{}, func(t *tx) error {
		t.queue("select from recoup.api_key where key_id = any ($1::uuid[]) order by key_id for no key update", raw(ids))
		t.queue(`update recoup.api_key k set last_used_at = u.at from unnest($1::uuid[], $2::timestamptz[]) as u (id, at)
			where k.key_id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`, raw(ids), times)
		return nil
	})
}
