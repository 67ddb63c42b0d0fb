package sqlite

import (
	"github.com/recoup-dev/recoup/server/internal/store"
)

const deleteReceipt = `delete from idempotency where scope = ? and key = ? and expires_at <= ?`

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
