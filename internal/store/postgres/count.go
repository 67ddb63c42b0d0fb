package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// FoldCounts replaces appended deltas by their sums. Sums that others append
// meanwhile are left for the next time.
func (s *Store) FoldCounts(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		with old as (delete from recoup.error_count returning table_name, state, n)
		insert into recoup.error_count
		select table_name, state, sum(n) from old group by 1, 2 having sum(n) <> 0`)
	return failure("fold counts", err)
}

// Counts returns how many errors each table has in each state.
func (s *Store) Counts(ctx context.Context) ([]store.Count, error) {
	rows, err := s.pool.Query(ctx, `
		select table_name, state, sum(n)::bigint from recoup.error_count
		group by 1, 2 having sum(n) <> 0 order by 1, 2`)
	return collectRows("count", rows, err, func(row pgx.CollectableRow) (c store.Count, err error) {
		err = row.Scan(&c.Table, &c.State, &c.N)
		return c, err
	})
}
