package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var receipts = sqldb.NewRepository(store.StoredReceipts, "receipt")

// FindReceipts looks for the receipts of items. It is asked once what they are about
// is locked: whoever held the lock before has left them by then.
func FindReceipts(tx Tx, keys []store.ReceiptKey) (store.Receipts, error) {
	if len(keys) == 0 {
		return store.NewReceipts(tx.Now(), nil), nil
	}
	scopes, names := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		scopes[i], names[i] = k.Scope, k.Key
	}
	found, err := receipts.Find(tx, "where scope"+tx.Dialect().AnyText("$1")+" and key"+tx.Dialect().AnyText("$2"), scopes, names)
	return store.NewReceipts(tx.Now(), found), err
}

// PurgeReceipts deletes at most limit receipts that have expired, and as many ids of
// events that are remembered no more.
func (v Ops) PurgeReceipts(ctx context.Context, now time.Time, limit int) (int, error) {
	gone, err := v.purge(ctx, "purge receipts", `delete from recoup.idempotency where (scope, key) in (
		select scope, key from recoup.idempotency where expires_at <= $1 order by expires_at limit $2)`, now, sqldb.Clamp(limit))
	if err != nil {
		return 0, err
	}
	ids, err := v.purge(ctx, "purge event ids", "delete from recoup.event_known where event_id"+v.db.Dialect().AnyOf(`
		select event_id from recoup.event_known where seen_at <= $1 order by seen_at limit $2`), now.Add(-store.EventIDsKept), sqldb.Clamp(limit))
	return gone + ids, err
}
