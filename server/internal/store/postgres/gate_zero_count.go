package postgres

import (
	"context"
)

// FoldBatchCounts replaces appended deltas by their sums.
func (s *Store) FoldBatchCounts(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		with old as (delete from cl.gate_zero_count returning batch_id, status, n),
		reasons as (delete from cl.gate_zero_reason returning status, reason, n),
		folded as (insert into cl.gate_zero_reason
			select status, reason, sum(n) from reasons group by 1, 2 having sum(n) <> 0)
		insert into cl.gate_zero_count
		select batch_id, status, sum(n) from old group by 1, 2 having sum(n) <> 0`)
	return failure("fold the counts of batches", err)
}
