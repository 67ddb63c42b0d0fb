package sqlops

import (
	"cmp"
	"context"
	"errors"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// maxBlockers is how many of the errors that block an entity are returned.
const maxBlockers = 100

// promotionRounds is how often a promotion is tried whose entity was blocked, and not any more when
// what blocks it was read.
const promotionRounds = 100

// Promote records a promotion and returns its number in the gate's order and its
// time, or store.ErrBlocked and what blocks. The gate is held from the check to the
// commit, so that no report can come between. What blocks may end between the
// check and its reading; then the gate is open and the check is made again.
// What slices block the entity with is returned as errors without ids.
// What was done before, under the same receipt, is answered with *store.Repeat.
func (v Ops) Promote(ctx context.Context, p store.Promotion) (done store.Promoted, blockers []recoup.Error, err error) {
	for range promotionRounds {
		done, blockers, err = v.promote(ctx, p)
		switch {
		case err != nil:
			return store.Promoted{}, nil, err
		case done != store.Promoted{}:
			return done, nil, nil
		case len(blockers) > 0:
			return done, blockers, store.ErrBlocked
		}
		if blockers, err = v.db.Blockers(ctx, p.Entity); err != nil || len(blockers) > 0 {
			return done, blockers, cmp.Or(err, store.ErrBlocked)
		}
	}
	return done, nil, store.ErrBusy // it is blocked again and again, or by what this program does not know
}

func (v Ops) promote(ctx context.Context, p store.Promotion) (done store.Promoted, blockers []recoup.Error, err error) {
	err = v.db.Act(ctx, "promote", p.At, func(tx Tx) error {
		done, blockers = store.Promoted{}, nil
		if err := tx.Promote(p, &done); err != nil {
			return err
		}
		err := current(tx.Dialect()).QueryLater(tx, &blockers, "/*by error_entity_idx*/ where e.entity_id = $1 and e.blocking order by e.created_at, e.error_id limit $2",
			p.Entity, maxBlockers)
		if err != nil || p.Receipt == nil {
			return err
		}
		return promoteOnce(tx, p, &done)
	})
	return done, blockers, err
}

// promoteOnce lets a promotion stand unless it was made before. The gate is held by
// then, so that whoever made it has committed.
func promoteOnce(tx Tx, p store.Promotion, done *store.Promoted) error {
	var found []store.StoredReceipt
	key := p.Receipt.ID()
	err := tx.Lock(receipts.Select("", "where scope = $1 and key = $2", key.Scope, key.Key), sqldb.Into(&found, receipts.Columns))
	if err != nil {
		return err
	}
	w := store.NewUnitOfWork(tx.Now(), nil)
	w.Receipts = store.NewReceipts(tx.Now(), found)
	_, answer, repeated, err := store.Once(&w.Receipts, p.Receipt, func() (store.Promoted, error) {
		if *done == (store.Promoted{}) {
			return *done, store.ErrBlocked
		}
		return *done, nil
	})
	switch {
	case repeated:
		return &store.Repeat{Answer: answer}
	case errors.Is(err, store.ErrBlocked):
		return nil // as its caller finds out by itself
	case err != nil:
		return err
	}
	return save(tx, w)
}

var gateEntries = sqldb.Fields(func(e *store.GateEntry) []any { return []any{&e.Seq, &e.Entity, (*string)(&e.Act), &e.ID} })

// GateLog returns what happened at an entity's gate, in the order of Seq.
func (v Ops) GateLog(ctx context.Context, entity string, limit int) ([]store.GateEntry, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read the gate's log", `
		select seq, entity_id, case when blocks then 'block' else 'unblock' end, error_id from recoup.gate_log where entity_id = $1
		union all select seq, entity_id, 'promote', promotion_id from recoup.promotion where entity_id = $1
		order by seq limit $2`, entity, sqldb.Clamp(limit)), gateEntries...)
}

var entityNames = sqldb.Fields(func(name *string) []any { return []any{name} })

// KnowsEntity reports whether an error or a promotion names the entity.
func (v Ops) KnowsEntity(ctx context.Context, entity string) (bool, error) {
	found, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("look for an entity", `
		select entity_id from recoup.error where entity_id = $1
		union all select entity_id from recoup.error_archive where entity_id = $1
		union all select entity_id from recoup.promotion where entity_id = $1
		limit 1`, entity), entityNames...)
	return len(found) > 0, err
}
