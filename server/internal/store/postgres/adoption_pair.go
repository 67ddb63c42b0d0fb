package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectPairs is what is known of source rows, with their errors as far as those are
// open: what is in the archive, or not even there, has ended. Errors are looked up one
// by one: a plan for a batch that is thought to be large would read all there are. What
// has a group is no dead letter.
const selectPairs = `select r.key, r.error_id, r.digest, r.attempt, coalesce(e.state <> 'RESOLVED', false), coalesce(e.table_name, ''), coalesce(e.entity_id, ''), coalesce(e.code, ''), coalesce(e.severity, ''), coalesce(d.lease_token, l.lease_token), coalesce(d.lease_ends_at, l.lease_ends_at), l.work_id, coalesce(l.stage, ''), coalesce(l.step, '')
	from %s r left join lateral (select * from recoup.error where error_id = r.error_id limit 1) e on true
	left join lateral (select * from recoup.due where error_id = r.error_id limit 1) d on true
	left join lateral (select l.work_id, l.stage, l.step, w.lease_token, w.lease_ends_at from recoup.dead_letter l left join recoup.work w using (work_id)
		where e.group_id is null and l.error_id = e.error_id and l.closed_at is null limit 1) l on true
	order by r.key`

var (
	selectPairsOf    = strings.Replace(selectPairs, "%s", "(select r.* from unnest($2::text[]) k cross join lateral (select * from recoup.adopted_row where adoption_id = $1 and key = k offset 0) r)", 1)
	selectPairsFirst = strings.Replace(selectPairs, "%s", behind("adopted_row", "key", "(adoption_id, key) >= ($1, $2)"), 1)
	selectPairsAfter = strings.Replace(selectPairs, "%s", pairsBehind, 1)
	selectUnderway   = strings.Replace(selectPairs, "%s", behind("adopted_row", "key", "(adoption_id, key) > ($1, $2) and attempt is not null"), 1)
	pairsBehind      = behind("adopted_row", "key", "(adoption_id, key) > ($1, $2)")
)

var (
	deletePairs    = deleteEach("adopted_row", "key", "text")
	deleteReadable = deleteEach("adopted_unreadable", "key", "text")
)

// deleteEach deletes the rows of adoption $1 whose column is in $2. They are found one by
// one: of a table that has grown since it was last counted, a plan would read everything
// that the adoption has, and compare each of it with all of $2.
func deleteEach(table, column, kind string) string {
	return fmt.Sprintf(`delete from recoup.%[1]s where ctid = any (array(
		select r.ctid from unnest($2::%[3]s[]) k cross join lateral (select ctid from recoup.%[1]s where adoption_id = $1 and %[2]s = k offset 0) r))`, table, column, kind)
}

// Pairs implements [store.Adopter].
func (s *Store) Pairs(ctx context.Context, adoption int, keys []string) ([]store.AdoptedRow, error) {
	rows, err := s.pool.Query(ctx, selectPairsOf, adoption, keys)
	return collectRows("read adopted rows", rows, err, scanPair)
}

// PairsAfter implements [store.Adopter].
func (s *Store) PairsAfter(ctx context.Context, adoption int, after *string, limit int) ([]store.AdoptedRow, error) {
	query, key := selectPairsFirst, ""
	if after != nil {
		query, key = selectPairsAfter, *after
	}
	rows, err := s.pool.Query(ctx, query, adoption, key, clamp(limit))
	return collectRows("read adopted rows", rows, err, scanPair)
}

func scanPair(row pgx.CollectableRow) (p store.AdoptedRow, err error) {
	var attempt, token, work *recoup.ID
	var ends *time.Time
	err = row.Scan(&p.Key, &p.ErrorID, &p.Digest, &attempt, &p.Open, &p.Table, &p.EntityID, &p.Code, &p.Severity, &token, &ends, &work, &p.Stage, &p.Step)
	if work != nil {
		p.WorkID = *work
	}
	if attempt != nil {
		p.Attempt = *attempt
	}
	if token != nil && ends != nil {
		p.LeaseToken, p.LeaseEndsAt = *token, ends.UTC()
	}
	return p, err
}

// KeepPairs implements [store.Adopter].
func (s *Store) KeepPairs(ctx context.Context, turn store.Turn, keys []string) error {
	return s.inTurn(ctx, "keep the errors of a released table", turn, func(t *tx) error {
		t.queue(`insert into recoup.adopted_kept (source, key, error_id, digest)
			select a.source, r.key, r.error_id, r.digest from recoup.adoption a, unnest($2::text[]) k
				cross join lateral (select * from recoup.adopted_row where adoption_id = $1 and key = k offset 0) r where a.adoption_id = $1
			on conflict (source, key) do update set error_id = excluded.error_id, digest = excluded.digest`, turn.Adoption, keys)
		t.queue(deletePairs, turn.Adoption, keys)
		return nil
	})
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
				cross join lateral (select ctid as place from recoup.adopted_row where adoption_id = $1 and key = n.key offset 0) p where r.ctid = p.place`, turn.Adoption, keys, digests, attempts)
		}
		if len(gone) > 0 {
			t.queue(deletePairs, turn.Adoption, gone)
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
	readable := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(names, key) })
	return s.inTurn(ctx, "note unreadable rows", turn, func(t *tx) error {
		t.queue(deleteReadable, turn.Adoption, readable)
		if len(bad) > 0 {
			t.queue(`insert into recoup.adopted_unreadable (adoption_id, key, cause) select $1, * from unnest($2::text[], $3::text[])
				on conflict (adoption_id, key) do update set cause = excluded.cause`, turn.Adoption, names, causes)
		}
		return nil
	})
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
