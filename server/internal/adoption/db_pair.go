package adoption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
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

// Pairs returns what is known of the rows of keys, in the order of keys of the pairs.
func (s *DB) Pairs(ctx context.Context, adoption int, keys []string) ([]Row, error) {
	rows, err := s.pool.Query(ctx, selectPairsOf, adoption, keys)
	return postgres.CollectRows("read adopted rows", rows, err, scanPair)
}

// PairsAfter returns what is known of the rows behind a key, in the order of keys of the pairs.
func (s *DB) PairsAfter(ctx context.Context, adoption int, after *string, limit int) ([]Row, error) {
	query, key := selectPairsFirst, ""
	if after != nil {
		query, key = selectPairsAfter, *after
	}
	rows, err := s.pool.Query(ctx, query, adoption, key, sqldb.Clamp(limit))
	return postgres.CollectRows("read adopted rows", rows, err, scanPair)
}

func scanPair(row pgx.CollectableRow) (p Row, err error) {
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

// KeepPairs forgets the pairs of a table that is released, and remembers their errors for the case
// that it is adopted again.
func (s *DB) KeepPairs(ctx context.Context, turn Lease, keys []string) error {
	return s.inTurn(ctx, "keep the errors of a released table", turn, func(t postgres.Tx) error {
		t.Queue(`insert into recoup.adopted_kept (source, key, error_id, digest)
			select a.source, r.key, r.error_id, r.digest from recoup.adoption a, unnest($2::text[]) k
				cross join lateral (select * from recoup.adopted_row where adoption_id = $1 and key = k offset 0) r where a.adoption_id = $1
			on conflict (source, key) do update set error_id = excluded.error_id, digest = excluded.digest`, turn.Adoption, keys)
		t.Queue(deletePairs, turn.Adoption, keys)
		return nil
	})
}

// SavePairs gives pairs another digest and attempt, and forgets others.
func (s *DB) SavePairs(ctx context.Context, turn Lease, changed []Row, gone []string) error {
	keys, digests, attempts := make([]string, len(changed)), make([][]byte, len(changed)), make([]*recoup.ID, len(changed))
	for i := range changed {
		if keys[i], digests[i] = changed[i].Key, nonNil(changed[i].Digest); !changed[i].Attempt.IsZero() {
			attempts[i] = &changed[i].Attempt
		}
	}
	return s.inTurn(ctx, "note adopted rows", turn, func(t postgres.Tx) error {
		if len(keys) > 0 {
			t.Queue(`update recoup.adopted_row r set digest = n.digest, attempt = n.attempt from unnest($2::text[], $3::bytea[], $4::uuid[]) as n (key, digest, attempt)
				cross join lateral (select ctid as place from recoup.adopted_row where adoption_id = $1 and key = n.key offset 0) p where r.ctid = p.place`, turn.Adoption, keys, digests, attempts)
		}
		if len(gone) > 0 {
			t.Queue(deletePairs, turn.Adoption, gone)
		}
		return nil
	})
}

// SaveUnreadable notes which rows cannot be read, and that others of those keys can
// be again, or are gone.
func (s *DB) SaveUnreadable(ctx context.Context, turn Lease, keys []string, bad []Unreadable) error {
	names, causes := make([]string, len(bad)), make([]string, len(bad))
	for i := range bad {
		names[i], causes[i] = bad[i].Key, bad[i].Cause
	}
	readable := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(names, key) })
	return s.inTurn(ctx, "note unreadable rows", turn, func(t postgres.Tx) error {
		t.Queue(deleteReadable, turn.Adoption, readable)
		if len(bad) > 0 {
			t.Queue(`insert into recoup.adopted_unreadable (adoption_id, key, cause) select $1, * from unnest($2::text[], $3::text[])
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
