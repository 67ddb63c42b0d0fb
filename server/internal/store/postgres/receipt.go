package postgres

import (
	"github.com/recoup-dev/recoup/server/internal/store"
)

var receiptColumns = columns(store.StoredReceipts.Columns)

// findReceipts queues the search for receipts.
func findReceipts(t *tx, keys []store.ReceiptKey, into *[]store.StoredReceipt) {
	if len(keys) == 0 {
		return
	}
	scopes, names := splitReceipts(keys)
	collect(t.queue(selectReceipts, scopes, names), decode(receiptColumns), into)
}

var selectReceipts = "select " + names(receiptColumns, "r.") + ` from recoup.idempotency r
	join unnest($1::text[], $2::text[]) as k (scope, key) on r.scope = k.scope and r.key = k.key`

// writeReceipts queues new receipts. Where another verb has written one of them
// meanwhile, the insert waits for it, fails, and the whole verb starts over.
func writeReceipts(t *tx, r *store.Receipts) {
	added := r.Added()
	if len(added) == 0 {
		return
	}
	if replaced := r.Replaced(); len(replaced) > 0 {
		scopes, names := splitReceipts(replaced)
		t.queue(`delete from recoup.idempotency r using unnest($1::text[], $2::text[]) as k (scope, key)
			where r.scope = k.scope and r.key = k.key and r.expires_at <= $3`, scopes, names, added[0].CreatedAt)
	}
	insert(t, "recoup.idempotency", receiptColumns, added)
}

func splitReceipts(keys []store.ReceiptKey) (scopes, names []string) {
	for _, k := range keys {
		scopes, names = append(scopes, k.Scope), append(names, k.Key)
	}
	return scopes, names
}
