package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// Promote records a promotion and returns its number in the gate's order and its
// time, or store.ErrBlocked and what blocks. The gate is held from the check to the
// commit, so that no report can come between. What blocks may end between the
// check and its reading; then the gate is open and the check is made again.
// What was done before, under the same receipt, is answered with *store.Repeat.
func (s *Store) Promote(ctx context.Context, p store.Promotion) (done store.Promoted, blockers []recoup.Error, err error) {
	for {
		passed, blockers, err := s.promote(ctx, p)
		switch {
		case err != nil:
			return done, nil, err
		case passed != nil:
			return *passed, nil, nil
		case len(blockers) > 0:
			return done, blockers, store.ErrBlocked
		}
	}
}

func (s *Store) promote(ctx context.Context, p store.Promotion) (passed *store.Promoted, blockers []recoup.Error, err error) {
	err = s.transact(ctx, "promote", p.At, func(t *tx) error {
		passed, blockers = nil, nil
		t.queue("select seq, promoted_at from recoup.promote($1, $2, $3, $4, $5)", p.Entity, p.Phase, p.By, t.due(), p.ID[:]).
			QueryRow(func(row pgx.Row) error {
				var seq *int64
				var at *time.Time
				if err := row.Scan(&seq, &at); err != nil || seq == nil {
					return err
				}
				passed = &store.Promoted{Seq: *seq, At: at.UTC()}
				return nil
			})
		collect(t.queue(s.sql.blocking, p.Entity, maxBlockers), decode(s.sql.errors), &blockers)
		if p.Receipt == nil {
			return nil
		}
		return promoteOnce(ctx, t, p, &passed)
	})
	return passed, blockers, err
}

// promoteOnce sends a promotion that is queued, and lets it stand unless it was
// made before. The gate is held by then, so that whoever made it has committed.
func promoteOnce(ctx context.Context, t *tx, p store.Promotion, passed **store.Promoted) error {
	var found []store.StoredReceipt
	findReceipts(t, []store.ReceiptKey{p.Receipt.ID()}, &found)
	if err := t.lock(ctx); err != nil {
		return err
	}
	receipts := store.NewReceipts(t.now, found)
	_, answer, repeated, err := store.Once(&receipts, p.Receipt, func() (store.Promoted, error) {
		if *passed == nil {
			return store.Promoted{}, store.ErrBlocked
		}
		return **passed, nil
	})
	switch {
	case repeated:
		return &store.Repeat{Answer: answer}
	case errors.Is(err, store.ErrBlocked):
		return nil // as its caller finds out by itself
	}
	writeReceipts(t, &receipts)
	return err
}

// maxBlockers is how many of the errors that block an entity are told.
const maxBlockers = 100

// GateLog returns what happened at an entity's gate, in the order of Seq.
func (s *Store) GateLog(ctx context.Context, entity string, limit int) ([]store.GateEntry, error) {
	rows, err := s.pool.Query(ctx, `
		select seq, entity_id, case when blocks then 'block' else 'unblock' end, error_id
		  from recoup.gate_log where entity_id = $1
		union all
		select seq, entity_id, 'promote', promotion_id from recoup.promotion where entity_id = $1
		order by seq limit $2`, entity, clamp(limit))
	return collectRows("read the gate's log", rows, err, func(row pgx.CollectableRow) (g store.GateEntry, err error) {
		err = row.Scan(&g.Seq, &g.Entity, &g.Act, &g.ID)
		return g, err
	})
}
