package sqlite

import (
	"context"

	"recoup"
	"recoup/internal/store"
)

var selectBlocking = selectError + ` indexed by error_blocking_idx
	where entity_id = ? and blocking order by created_at, error_id limit 0 + ?`

// maxBlockers is how many blocking errors a refused promotion names.
const maxBlockers = 100

// Promote records a promotion unless an error blocks the entity. Reports wait
// their turn behind it, so nothing can come between its check and its commit.
func (s *Store) Promote(ctx context.Context, p store.Promotion) (seq int64, blockers []recoup.Error, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		blockers, err = tx.errors(errorColumns, selectBlocking, p.Entity, maxBlockers)
		if err != nil {
			return err
		}
		if len(blockers) > 0 {
			return store.ErrBlocked
		}
		return tx.row(`insert into promotion (seq, promotion_id, entity_id, phase, promoted_by, promoted_at)
			select seq, ?, ?, ?, ?, ? from gate_next returning seq`,
			id{&p.ID}, p.Entity, p.Phase, p.By, micros(p.At)).Scan(&seq)
	})
	return seq, blockers, err
}

const selectGate = `select seq, entity_id, case when blocks then 'block' else 'unblock' end, error_id
	from gate_log where entity_id = ?1
	union all select seq, entity_id, 'promote', promotion_id from promotion where entity_id = ?1
	order by seq limit 0 + ?2`

// GateLog returns what happened at an entity's gate, in its order.
func (s *Store) GateLog(ctx context.Context, entity string, limit int) ([]store.GateEntry, error) {
	return query(ctx, s, func(e *store.GateEntry) []any {
		return []any{&e.Seq, text[string]{&e.Entity}, text[store.GateAct]{&e.Act}, id{&e.ID}}
	}, selectGate, entity, store.Page{Limit: limit}.Size())
}
