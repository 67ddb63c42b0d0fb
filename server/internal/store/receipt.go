package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// ReceiptFor makes an item of a verb happen at most once: what it did is written
// down in the very commit that did it. The same again under the same scope and
// key, as long as the receipt has not expired, does nothing and gets the first
// answer; another request under that key, known by its hash, is ErrConflict.
// An item that was refused leaves no receipt.
type ReceiptFor[T any] struct {
	Scope     string // whose key it is, and for what: a key of the API and a path
	Key       string // as its sender chose it
	Hash      [32]byte
	ExpiresAt time.Time
	Answer    func(T) []byte // what is to be answered, now and again; nil: nothing
}

type (
	// Receipt is that of a report or a step.
	Receipt = ReceiptFor[Outcome]

	// PromotionReceipt is that of a promotion.
	PromotionReceipt = ReceiptFor[Promoted]
)

// ReceiptKey names a receipt.
type ReceiptKey struct{ Scope, Key string }

// ID returns the name of the receipt.
func (r *ReceiptFor[T]) ID() ReceiptKey { return ReceiptKey{r.Scope, r.Key} }

// ReceiptKeys returns the names of the receipts of items, of which most have none.
func ReceiptKeys[I any](items []I, of func(*I) *Receipt) []ReceiptKey {
	var keys []ReceiptKey
	for i := range items {
		if r := of(&items[i]); r != nil {
			keys = append(keys, r.ID())
		}
	}
	return keys
}

func (r *ReceiptFor[T]) answer(outcome T) []byte {
	if r.Answer == nil {
		return nil
	}
	return r.Answer(outcome)
}

// StoredReceipt is a receipt as it is kept.
type StoredReceipt struct {
	ReceiptKey
	Hash      [32]byte
	Answer    []byte
	CreatedAt time.Time
	ExpiresAt time.Time
}

// StoredReceipts describes the rows of receipts.
var StoredReceipts = sqldb.Table[StoredReceipt]{Name: "recoup.idempotency", Columns: []sqldb.Column[StoredReceipt]{
	sqldb.Word("scope", func(s *StoredReceipt) *string { return &s.Scope }).Key(),
	sqldb.Word("key", func(s *StoredReceipt) *string { return &s.Key }).Key(),
	sqldb.Hash("request_hash", func(s *StoredReceipt) *[32]byte { return &s.Hash }).Fixed(),
	sqldb.Bytes("answer", func(s *StoredReceipt) *[]byte { return &s.Answer }).Fixed(),
	sqldb.Time("created_at", func(s *StoredReceipt) *time.Time { return &s.CreatedAt }).Fixed(),
	sqldb.Time("expires_at", func(s *StoredReceipt) *time.Time { return &s.ExpiresAt }).Fixed(),
}}

// Repeat is the error of a promotion that was made before, under the same
// receipt: its answer.
type Repeat struct{ Answer []byte }

func (*Repeat) Error() string { return "done before, under the same key" }

// Receipts is what a transaction knows of the receipts that its items name.
type Receipts struct {
	now   time.Time
	known map[ReceiptKey]StoredReceipt
	stale map[ReceiptKey]bool
	added []StoredReceipt
}

// NewReceipts begins with the receipts that the transaction has found. Those
// that have expired at now count for nothing.
func NewReceipts(now time.Time, found []StoredReceipt) Receipts {
	r := Receipts{now: now}
	for _, f := range found {
		if now.Before(f.ExpiresAt) {
			r.know(f)
			continue
		}
		if r.stale == nil {
			r.stale = map[ReceiptKey]bool{}
		}
		r.stale[f.ReceiptKey] = true
	}
	return r
}

// Once does something unless its receipt, which must not be nil, shows that it
// was done. It returns the answer, and whether it is that of an earlier time.
func Once[T any](known *Receipts, r *ReceiptFor[T], do func() (T, error)) (outcome T, answer []byte, repeated bool, err error) {
	if first, ok := known.known[r.ID()]; ok {
		if first.Hash != r.Hash {
			return outcome, nil, false, ErrConflict
		}
		return outcome, first.Answer, true, nil
	}
	if outcome, err = do(); err != nil {
		return outcome, nil, false, err
	}
	answer = r.answer(outcome)
	made := StoredReceipt{r.ID(), r.Hash, answer, known.now, r.ExpiresAt}
	known.know(made)
	known.added = append(known.added, made)
	return outcome, answer, false, nil
}

func (r *Receipts) know(s StoredReceipt) {
	if r.known == nil {
		r.known = map[ReceiptKey]StoredReceipt{}
	}
	r.known[s.ReceiptKey] = s
}

// Added returns the receipts to be written, in the order of their names, so that
// no two transactions wait for each other crosswise.
func (r *Receipts) Added() []StoredReceipt {
	return slices.SortedFunc(slices.Values(r.added), func(a, b StoredReceipt) int {
		return cmp.Or(strings.Compare(a.Scope, b.Scope), strings.Compare(a.Key, b.Key))
	})
}

// Replaced returns the names of expired receipts that those to be written take
// over, and that are to be deleted before.
func (r *Receipts) Replaced() []ReceiptKey {
	var list []ReceiptKey
	for _, a := range r.Added() {
		if r.stale[a.ReceiptKey] {
			list = append(list, a.ReceiptKey)
		}
	}
	return list
}
