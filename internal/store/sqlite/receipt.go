package sqlite

import (
	"context"
	"time"

	"recoup/internal/store"
)

const (
	selectReceipt = `select ` + receiptColumns + ` from idempotency where scope = ? and key = ?`
	deleteReceipt = `delete from idempotency where scope = ? and key = ? and expires_at <= ?`
	purgeReceipts = `delete from idempotency where (scope, key) in
		(select scope, key from idempotency where expires_at <= ? order by expires_at limit 0 + ?)`
)

var insertReceipt = addTo("idempotency", receiptColumns)

// findReceipts looks for receipts. There is one writer, so nobody can add one
// before they are saved.
func (t *tx) findReceipts(now time.Time, keys []store.ReceiptKey) (store.Receipts, error) {
	var found []store.StoredReceipt
	for _, k := range keys {
		list, err := collectAll(t, receiptFields, selectReceipt, k.Scope, k.Key)
		if err != nil {
			return store.Receipts{}, err
		}
		found = append(found, list...)
	}
	return store.NewReceipts(now, found), nil
}

// saveReceipts writes new receipts; those that have expired make room.
func (t *tx) saveReceipts(r *store.Receipts) error {
	added := r.Added()
	for _, k := range r.Replaced() {
		if err := t.exec(deleteReceipt, k.Scope, k.Key, micros(added[0].CreatedAt)); err != nil {
			return err
		}
	}
	return each(t, insertReceipt, added, receiptFields)
}

// PurgeReceipts deletes at most limit receipts that have expired.
func (s *Store) PurgeReceipts(ctx context.Context, now time.Time, limit int) (int, error) {
	return s.purge(ctx, purgeReceipts, micros(now), store.Page{Limit: limit}.Size())
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
