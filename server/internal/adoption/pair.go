package adoption

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Pair says which source row an error is of. It is written in the transaction that commits the
// error.
type Pair struct {
	Turn   Lease
	Key    string
	Digest []byte
	Kept   Kept // of the row, with its error
}

// Attachment attaches a pair to a report.
func (p Pair) Attachment() *store.Attachment { return &store.Attachment{By: pairWriter{}, Value: &p} }

// pairIn returns the pair of a report.
func pairIn(a *store.Attachment) *Pair {
	p, _ := a.Value.(*Pair)
	return p
}

// pairWriter writes pairs with their errors.
type pairWriter struct{}

// WriteAttached implements [store.Attacher]: which source rows errors are of, what these keep of them,
// and that the rows are to be notified. The turns that this is done in are checked, and kept until
// the commit.
func (pairWriter) WriteAttached(tx sqldb.Tx, list []store.Attached) error {
	slices.SortStableFunc(list, func(a, b store.Attached) int {
		return strings.Compare(pairIn(&a.Attachment).Key, pairIn(&b.Attachment).Key)
	})
	if err := checkTurns(tx, list); err != nil {
		return err
	}
	adoptions, keys := make([]int, len(list)), make([]string, len(list))
	ids, digests := make([]recoup.ID, len(list)), make([][]byte, len(list))
	for i := range list {
		p := pairIn(&list[i].Attachment)
		adoptions[i], keys[i], ids[i], digests[i] = p.Turn.Adoption, p.Key, list[i].ErrorID, append([]byte{}, p.Digest...)
	}
	return sqldb.InOrder(
		func() error {
			return tx.Do(`insert into recoup.adopted_row (adoption_id, key, error_id, digest)
				select * from unnest($1::int[], $2::text[], $3::uuid[], $4::bytea[])
				on conflict (adoption_id, key) do update set error_id = excluded.error_id, digest = excluded.digest, attempt = null`,
				adoptions, keys, ids, digests)
		},
		func() error {
			return tx.Do("insert into recoup.adopted_mirror (adoption_id, error_id) select * from unnest($1::int[], $2::uuid[])", adoptions, ids)
		},
		func() error { return writeKept(tx, list) },
	)
}

// checkTurns checks the turns that pairs are written in.
func checkTurns(tx sqldb.Tx, list []store.Attached) error {
	seen := map[Lease]bool{}
	for i := range list {
		turn := pairIn(&list[i].Attachment).Turn
		if seen[turn] {
			continue
		}
		seen[turn] = true
		if err := tx.Do("select recoup.check_turn($1, $2)", turn.Adoption, turn.Number); err != nil {
			return err
		}
	}
	return nil
}

// writeKept writes what new errors keep of their source rows. Most keep nothing.
func writeKept(tx sqldb.Tx, list []store.Attached) error {
	var ids []recoup.ID
	var details, sealed [][]byte
	var tables []string
	var keys []*string
	for i := range list {
		k := &pairIn(&list[i].Attachment).Kept
		if k.Details == nil && k.Sealed == nil {
			continue
		}
		var by *string
		if k.SealedBy != "" {
			by = &k.SealedBy
		}
		ids, tables = append(ids, list[i].ErrorID), append(tables, list[i].Table)
		details, sealed, keys = append(details, k.Details), append(sealed, k.Sealed), append(keys, by)
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Do(`insert into recoup.source_detail (error_id, table_name, details, sealed, sealed_by)
		select n.id, n.tab, convert_from(n.details, 'UTF8')::jsonb, n.sealed, n.key
		from unnest($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::text[]) as n (id, tab, details, sealed, key)`,
		ids, tables, details, sealed, keys)
}
