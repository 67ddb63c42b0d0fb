package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// selectPairs is what is known of source rows, with their errors as far as those are
// open: what is in the archive, or not even there, has ended. Errors are looked up one
// by one: a plan for a batch that is thought to be large would read all there are.
const selectPairs = `select r.key, r.error_id, r.digest, r.attempt, coalesce(e.state <> 'RESOLVED', false), coalesce(e.table_name, ''), coalesce(e.entity_id, ''), coalesce(e.code, ''), d.lease_token, d.lease_ends_at
	from %s r left join lateral (select * from recoup.error where error_id = r.error_id limit 1) e on true
	left join lateral (select * from recoup.due where error_id = r.error_id limit 1) d on true order by r.key`

var (
	selectPairsOf    = strings.Replace(selectPairs, "%s", "(select * from recoup.adopted_row where adoption_id = $1 and key = any ($2))", 1)
	selectPairsAfter = strings.Replace(selectPairs, "%s", "(select * from recoup.adopted_row where adoption_id = $1 and key > $2 order by key limit $3)", 1)
	selectUnderway   = strings.Replace(selectPairs, "%s", "(select * from recoup.adopted_row where adoption_id = $1 and attempt is not null and key > $2 order by key limit $3)", 1)
)

// Pairs implements [store.Adopter].
func (s *Store) Pairs(ctx context.Context, adoption int, keys []string) ([]store.AdoptedRow, error) {
	rows, err := s.pool.Query(ctx, selectPairsOf, adoption, keys)
	return collectRows("read adopted rows", rows, err, scanPair)
}

// PairsAfter implements [store.Adopter].
func (s *Store) PairsAfter(ctx context.Context, adoption int, after string, limit int) ([]store.AdoptedRow, error) {
	rows, err := s.pool.Query(ctx, selectPairsAfter, adoption, after, clamp(limit))
	return collectRows("read adopted rows", rows, err, scanPair)
}

func scanPair(row pgx.CollectableRow) (p store.AdoptedRow, err error) {
	var attempt, token *recoup.ID
	var ends *time.Time
	err = row.Scan(&p.Key, &p.ErrorID, &p.Digest, &attempt, &p.Open, &p.Table, &p.EntityID, &p.Code, &token, &ends)
	if attempt != nil {
		p.Attempt = *attempt
	}
	if token != nil && ends != nil {
		p.LeaseToken, p.LeaseEndsAt = *token, ends.UTC()
	}
	return p, err
}

// SavePairs implements [store.Adopter].
func (s *Store) SavePairs(ctx context.Context, turn store.Turn, changed []store.AdoptedRow, gone []string) error {
	keys, digests, attempts := make([]string, len(changed)), make([][]byte, len(changed)), make([]*recoup.ID, len(changed))
	for i := range changed {
		if keys[i], digests[i] = changed[i].Key, nonNil(changed[i].Digest); !changed[i].Attempt.IsZero() {
			attempts[i] = &changed[i].Attempt
		}
	}
	return s.inTurn(ctx, "note adopted rows", turn, func(t *tx) error {
		if len(keys) > 0 {
			t.queue(`update recoup.adopted_row r set digest = n.digest, attempt = n.attempt from unnest($2::text[], $3::bytea[], $4::uuid[]) as n (key, digest, attempt)
				where r.adoption_id = $1 and r.key = n.key`, turn.Adoption, keys, digests, attempts)
		}
		if len(gone) > 0 {
			t.queue("delete from recoup.adopted_row where adoption_id = $1 and key = any ($2)", turn.Adoption, gone)
		}
		return nil
	})
}

// SaveUnreadable implements [store.Adopter].
func (s *Store) SaveUnreadable(ctx context.Context, turn store.Turn, keys []string, bad []store.Unreadable) error {
	names, causes := make([]string, len(bad)), make([]string, len(bad))
	for i := range bad {
		names[i], causes[i] = bad[i].Key, bad[i].Cause
	}
	return s.inTurn(ctx, "note unreadable rows", turn, func(t *tx) error {
		t.queue("delete from recoup.adopted_unreadable where adoption_id = $1 and key = any ($2) and not key = any ($3)", turn.Adoption, keys, names)
		if len(bad) > 0 {
			t.queue(`insert into recoup.adopted_unreadable (adoption_id, key, cause) select $1, * from unnest($2::text[], $3::text[])
				on conflict (adoption_id, key) do update set cause = excluded.cause`, turn.Adoption, names, causes)
		}
		return nil
	})
}

// writePairs queues which source rows new errors are of, and that these are to be
// notified. The turn is checked when the reports take their locks, and kept until the commit.
func writePairs(t *tx, pairs map[recoup.ID]store.Pair) {
	if len(pairs) == 0 {
		return
	}
	list := make([]pairOf, 0, len(pairs))
	for id, p := range pairs {
		list = append(list, pairOf{id, p})
	}
	slices.SortFunc(list, func(a, b pairOf) int { return strings.Compare(a.Key, b.Key) })
	adoptions, keys := make([]int, len(list)), make([]string, len(list))
	ids, digests := make([]recoup.ID, len(list)), make([][]byte, len(list))
	for i, p := range list {
		adoptions[i], keys[i], ids[i], digests[i] = p.Turn.Adoption, p.Key, p.error, nonNil(p.Digest)
	}
	t.queue(`insert into recoup.adopted_row (adoption_id, key, error_id, digest)
		select * from unnest($1::int[], $2::text[], $3::uuid[], $4::bytea[])
		on conflict (adoption_id, key) do update set error_id = excluded.error_id, digest = excluded.digest, attempt = null`,
		adoptions, keys, raw(ids), digests)
	t.queue("insert into recoup.adopted_mirror (adoption_id, error_id) select * from unnest($1::int[], $2::uuid[])", adoptions, raw(ids))
	writeKept(t, list)
}

// checkTurns queues the check of the turns that reports of source rows are made in.
func checkTurns(t *tx, reports []store.Report) {
	seen := map[store.Turn]bool{}
	for i := range reports {
		if p := reports[i].Pair; p != nil && !seen[p.Turn] {
			seen[p.Turn] = true
			checkTurn(t, p.Turn)
		}
	}
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
