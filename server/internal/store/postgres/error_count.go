package postgres

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// foldCounts keeps a sum of no errors that is not nothing: where two fold at
// once, what is left to the later one may be the difference between two errors.
const foldCounts = `
	with old as (delete from recoup.error_count where ctid = any (array(select ctid from recoup.error_count limit $1))
		returning table_name, state, ttl_us, ` + store.TTLUnit + ` as ttl_unit, n, blocking, born_s, born_us),
	sums as (insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
		select table_name, state, ` + store.CoarseTTL + `, sum(n), sum(blocking), sum(born_s), sum(born_us) from old group by 1, 2, 3
		having sum(n) <> 0 or sum(blocking) <> 0 or sum(born_s) <> 0 or sum(born_us) <> 0)
	select count(*) from old`

// FoldCounts replaces appended deltas by their sums, in chunks: however many there are,
// none of them takes long. Sums are few, so every chunk leaves less than it took.
func (s *Store) FoldCounts(ctx context.Context) error {
	return s.fold(ctx, "fold counts", foldCounts, 100_000)
}

// fold runs a statement that folds so many rows at most, and returns how many it had,
// until few are left. What others append meanwhile is left for the next time.
func (s *Store) fold(ctx context.Context, what, statement string, chunk int) error {
	for n := chunk; n == chunk; {
		if err := s.pool.Change(ctx, statement, chunk).Scan(&n); err != nil {
			return failure(what, err)
		}
	}
	return nil
}
