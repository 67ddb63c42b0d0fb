package postgres

import (
	"context"

	"recoup/internal/store"
)

// foldCounts keeps a sum of no errors that is not nothing: where two fold at
// once, what is left to the later one may be the difference between two errors.
const foldCounts = `
	with old as (delete from recoup.error_count
		returning table_name, state, ttl_us, ` + store.TTLUnit + ` as ttl_unit, n, blocking, born_s, born_us)
	insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
	select table_name, state, ` + store.CoarseTTL + `, sum(n), sum(blocking), sum(born_s), sum(born_us) from old group by 1, 2, 3
	having sum(n) <> 0 or sum(blocking) <> 0 or sum(born_s) <> 0 or sum(born_us) <> 0`

// FoldCounts replaces appended deltas by their sums. Sums that others append
// meanwhile are left for the next time.
func (s *Store) FoldCounts(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, foldCounts)
	return failure("fold counts", err)
}
