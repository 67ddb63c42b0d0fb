package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// CountDrops notes what was left out of the ledger.
func (s *Store) CountDrops(ctx context.Context, drops []store.Drop) error {
	var days []time.Time
	var reasons []string
	var n []int64
	for _, d := range drops {
		days, reasons, n = append(days, store.Day(d.Day)), append(reasons, d.Reason), append(n, d.N)
	}
	_, err := s.pool.Exec(ctx, "insert into recoup.event_drop select * from unnest($1::date[], $2::text[], $3::bigint[])", days, reasons, n)
	return failure("count drops", err)
}

// foldBatch is how much is folded in one transaction.
const foldBatch = 50_000

// FoldRollups adds what was appended to the sums, in bounded chunks.
func (s *Store) FoldRollups(ctx context.Context) error {
	return s.fold(ctx, "fold rollups", "select recoup.fold_rollups($1)", foldBatch)
}

// PurgeRollups deletes counts that are no longer needed.
func (s *Store) PurgeRollups(ctx context.Context, keep store.Retention, limit int) (n int, err error) {
	err = s.pool.Change(ctx, "select recoup.purge_rollups($1, $2, $3)", store.Hour(keep.Hourly), store.Day(keep.Daily), max(limit, 0)).Scan(&n)
	return n, failure("purge rollups", err)
}
