package sqlite

import (
	"context"
	"time"

	"recoup/internal/store"
)

const (
	deleteReceipt = `delete from idempotency where scope = ? and key = ? and expires_at <= ?`
	purgeReceipts = `delete from idempotency where (scope, key) in
		(select scope, key from idempotency where expires_at <= ? order by expires_at limit 0 + ?)`
)

// saveReceipts writes new receipts; those that have expired make room.
func (t *tx) saveReceipts(r *store.Receipts) error {
	added := r.Added()
	for _, k := range r.Replaced() {
		if err := t.exec(deleteReceipt, k.Scope, k.Key, micros(added[0].CreatedAt)); err != nil {
			return err
		}
	}
	return act{tx: t}.Add(store.StoredReceipts.Batch(added))
}

const purgeEventIDs = `delete from event_known where event_id in
	(select event_id from event_known where seen_at <= ? order by seen_at limit 0 + ?)`

// PurgeReceipts deletes at most limit receipts that have expired, and as many ids of
// events that are remembered no more.
func (s *Store) PurgeReceipts(ctx context.Context, now time.Time, limit int) (int, error) {
	size := store.Page{Limit: limit}.Size()
	receipts, err := s.purge(ctx, purgeReceipts, micros(now), size)
	if err != nil {
		return 0, err
	}
	ids, err := s.purge(ctx, purgeEventIDs, micros(now.Add(-store.EventIDsKept)), size)
	return receipts + ids, err
}

// purge runs one statement that deletes, and returns how many rows it deleted.
func (s *Store) purge(ctx context.Context, text string, args ...any) (n int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		n, err = tx.change(text, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
