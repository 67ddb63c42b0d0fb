package sqlite

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
)

// FoldCounts has nothing to fold, because the triggers count in place. It clears
// away what has become none.
func (s *Store) FoldCounts(ctx context.Context) error {
	return s.writer.do(ctx, func(tx *tx) error { return tx.exec(`delete from error_count where n = 0`) })
}

// Counts returns how many errors each table has in each state.
func (s *Store) Counts(ctx context.Context) ([]store.Count, error) {
	return query(ctx, s, func(c *store.Count) []any {
		return []any{text[string]{&c.Table}, text[recoup.State]{&c.State}, &c.N}
	}, `select table_name, state, sum(n) from error_count group by 1, 2 having sum(n) <> 0 order by 1, 2`)
}

// Levels returns what there is at now, by table.
func (s *Store) Levels(ctx context.Context, now time.Time) ([]store.Level, error) {
	sums, err := query(ctx, s, func(l *store.LevelSum) []any {
		return []any{&l.Table, text[recoup.State]{&l.State}, &l.TTL, &l.N, &l.Blocking, &l.Seconds, &l.Micros}
	}, `select table_name, state, ttl_us, n, blocking, born_s, born_us from error_count where n <> 0`)
	return store.Levels(now, sums), err
}
