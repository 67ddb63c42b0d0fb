package sqlite

import (
	"context"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/verb"
)

var selectBlocking = selectError + ` indexed by error_entity_idx
	where entity_id = ? and blocking order by created_at, error_id limit 0 + ?`

// maxBlockers is how many blocking errors a refused promotion names.
const maxBlockers = 100

// Promote records a promotion unless an error blocks the entity. Reports wait
// their turn behind it, so nothing can come between its check and its commit.
// What was done before, under the same receipt, is answered with *store.Repeat.
func (s *Store) Promote(ctx context.Context, p store.Promotion) (done store.Promoted, blockers []recoup.Error, err error) {
	err = s.writer.doAt(ctx, p.At, func(tx *tx) error {
		if p.Receipt == nil {
			done, blockers, err = tx.promote(p)
			return err
		}
		receipts, err := verb.FindReceipts(act{tx: tx}, []store.ReceiptKey{p.Receipt.ID()})
		if err != nil {
			return err
		}
		passed, answer, repeated, err := store.Once(&receipts, p.Receipt, func() (passed store.Promoted, err error) {
			passed, blockers, err = tx.promote(p)
			return passed, err
		})
		if repeated {
			return &store.Repeat{Answer: answer}
		}
		if done = passed; err != nil {
			return err
		}
		return tx.saveReceipts(&receipts)
	})
	return done, blockers, err
}

func (t *tx) promote(p store.Promotion) (done store.Promoted, blockers []recoup.Error, err error) {
	blockers, err = t.errors(errorColumns, selectBlocking, p.Entity, maxBlockers)
	if err == nil && len(blockers) > 0 {
		err = store.ErrBlocked
	}
	if err != nil {
		return done, blockers, err
	}
	err = t.row(`insert into promotion (seq, promotion_id, entity_id, phase, promoted_by, promoted_at)
		select seq, ?, ?, ?, ?, ? from gate_next returning seq`,
		id{&p.ID}, p.Entity, p.Phase, p.By, micros(t.now)).Scan(&done.Seq)
	done.At = t.now
	return done, nil, err
}

const selectGate = `select seq, entity_id, case when blocks then 'block' else 'unblock' end, error_id
	from gate_entry where entity_id = ?1
	union all select end_gate, entity_id, 'unblock', error_id from error_archive where entity_id = ?1 and end_gate is not null
	union all select seq, entity_id, 'promote', promotion_id from promotion where entity_id = ?1
	order by seq limit 0 + ?2`

// GateLog returns what happened at an entity's gate, in its order.
func (s *Store) GateLog(ctx context.Context, entity string, limit int) ([]store.GateEntry, error) {
	return query(ctx, s, func(e *store.GateEntry) []any {
		return []any{&e.Seq, text[string]{&e.Entity}, text[store.GateAct]{&e.Act}, id{&e.ID}}
	}, selectGate, entity, store.Page{Limit: limit}.Size())
}
