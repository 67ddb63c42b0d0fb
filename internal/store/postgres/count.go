package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

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

// Levels returns what there is at now, by table.
func (s *Store) Levels(ctx context.Context, now time.Time) ([]store.Level, error) {
	rows, err := s.pool.Query(ctx, `
		select table_name, state, `+store.CoarseTTL+`, sum(n)::bigint, sum(blocking)::bigint, sum(born_s)::bigint, sum(born_us)::bigint
		from (select *, `+store.TTLUnit+` as ttl_unit from recoup.error_count) c group by 1, 2, 3`)
	sums, err := collectRows("read levels", rows, err, func(row pgx.CollectableRow) (l store.LevelSum, err error) {
		err = row.Scan(&l.Table, &l.State, &l.TTL, &l.N, &l.Blocking, &l.Seconds, &l.Micros)
		return l, err
	})
	return store.Levels(now, sums), err
}
