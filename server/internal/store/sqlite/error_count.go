package sqlite

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// FoldCounts adds up what lives about as long. The triggers count in place, so it
// finds little to do, and clears away what has become none.
func (s *Store) FoldCounts(ctx context.Context) error {
	return s.writer.do(ctx, func(tx *tx) error {
		if err := tx.exec(foldCounts); err != nil {
			return err
		}
		return tx.exec(clearCounts)
	})
}

const (
	foldCounts = `insert into error_count
		select table_name, state, coarse, sum(n), sum(blocking), sum(born_s), sum(born_us) from (
			select *, ` + store.CoarseTTL + ` as coarse from (select *, ` + store.TTLUnit + ` as ttl_unit from error_count) where coarse <> ttl_us)
		group by 1, 2, 3
		on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
			born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us`
	clearCounts = `delete from error_count where n = 0 and blocking = 0 and born_s = 0 and born_us = 0
		or (select ` + store.CoarseTTL + ` from (select ` + store.TTLUnit + ` as ttl_unit)) <> ttl_us`
)
