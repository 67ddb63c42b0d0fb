package ledger

// knowledge is what has been found out while deciding about one batch: its events
// share most of their names. It is gone with the batch, and so are the names of
// tenants in it.
type knowledge struct {
	clean  map[string]bool // identifiers that may be stored
	hashes map[string]hashed
}

// hashed is a tenant's hash and the id of the key that made it.
type hashed struct{ hash, keyID string }

func newKnowledge() *knowledge {
	return &knowledge{clean: map[string]bool{}, hashes: map[string]hashed{}}
}

// tenant returns a tenant's hash. Keys that are replaced meanwhile count from the
// next batch on.
func (k *knowledge) tenant(t *Tenants, name string) (hash, keyID string) {
	h, ok := k.hashes[name]
	if !ok {
		h.hash, h.keyID = t.Hash(name)
		k.hashes[name] = h
	}
	return h.hash, h.keyID
}
