package verb

import "recoup/internal/store"

var receipts = table(store.StoredReceipts, "receipt")

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
	found, err := receipts.find(tx, "where scope = any ($1::text[]) and key = any ($2::text[])", scopes, names)
	return store.NewReceipts(tx.Now(), found), err
}
