package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// maxBlockers is how many blockers a gate lists.
const maxBlockers = 100

// Gate looks at an entity's gate.
func (e *Engine) Gate(ctx context.Context, entity string) (recoup.PromotionStatus, error) {
	f := check.Fields{Redactor: e.Redactor}
	check.Normalize(&entity)
	f.RequiredIdentifier("entity_id", entity)
	if err := f.Err(); err != nil {
		return recoup.PromotionStatus{}, err
	}
	blockers, err := e.gates.check(ctx, entity)
	if err != nil {
		return recoup.PromotionStatus{}, err
	}
	return e.gate(entity, blockers), nil
}

// Unknown reports whether nobody has ever named an entity. It costs more than the gate,
// whose question it is not.
func (e *Engine) Unknown(ctx context.Context, entity string) (bool, error) {
	known, err := e.Store.KnowsEntity(ctx, check.Normalized(entity))
	return !known, err
}

func (e *Engine) gate(entity string, blockers []store.Blocker) recoup.PromotionStatus {
	g := recoup.PromotionStatus{EntityID: entity, Blocked: len(blockers) > 0, More: len(blockers) > maxBlockers}
	never := g.More
	for _, b := range blockers[:min(len(blockers), maxBlockers)] {
		table, known := e.Policies.Table(b.Table)
		g.Blockers = append(g.Blockers, recoup.Blocker{
			ErrorID: b.ID, Unread: b.ID.IsZero(), DeadLetter: known && table.DeadLetter, Table: b.Table, Code: b.Code, State: b.State, Owner: b.Owner(),
			Since: b.CreatedAt, NextRetryAt: b.NextRetryAt, EndsAt: b.ExpiresAt,
		})
		never = never || b.ExpiresAt.IsZero()
		if b.ExpiresAt.After(g.OpensAt) {
			g.OpensAt = b.ExpiresAt
		}
	}
	if never {
		g.OpensAt = time.Time{}
	}
	return g
}

// CheckPromotion says what is wrong with a promotion, all of it.
func (e *Engine) CheckPromotion(p recoup.Promotion) error {
	f := check.Fields{Redactor: e.Redactor}
	check.Normalize(&p.EntityID, &p.Phase)
	f.RequiredIdentifier("entity_id", p.EntityID)
	f.RequiredIdentifier("phase", p.Phase)
	return f.Err()
}

// Promote checks the gate and records the promotion, in one transaction that no
// report can slip into. If the entity is blocked it returns store.ErrBlocked and
// the gate. A receipt makes a repeated request harmless; nil: none.
func (e *Engine) Promote(ctx context.Context, c Caller, p recoup.Promotion, receipt *store.PromotionReceipt) (recoup.Promoted, recoup.PromotionStatus, error) {
	check.Normalize(&p.EntityID, &p.Phase)
	if err := e.CheckPromotion(p); err != nil {
		return recoup.Promoted{}, recoup.PromotionStatus{}, err
	}
	done := recoup.Promoted{ID: e.IDs.New(e.Now()), EntityID: p.EntityID, Phase: p.Phase, By: c.Name}
	recorded := func(as store.Promoted) recoup.Promoted {
		done.Seq, done.At = as.Seq, as.At
		return done
	}
	promotion := store.Promotion{ID: done.ID, Entity: p.EntityID, Phase: p.Phase, By: c.Name}
	if receipt != nil {
		complete := *receipt
		complete.Answer = func(as store.Promoted) []byte { return encode(recorded(as)) }
		promotion.Receipt = &complete
	}
	var before *store.Repeat
	as, blockers, err := e.Store.Promote(ctx, promotion)
	switch {
	case errors.As(err, &before):
		done = recoup.Promoted{}
		err = json.Unmarshal(before.Answer, &done)
		done.Repeated = true
		return done, recoup.PromotionStatus{}, err
	case errors.Is(err, store.ErrBlocked):
		shown := make([]store.Blocker, len(blockers))
		for i := range blockers {
			shown[i] = store.BlockerOf(&blockers[i])
		}
		return recoup.Promoted{}, e.gate(p.EntityID, shown), err
	}
	return recorded(as), recoup.PromotionStatus{}, err
}
