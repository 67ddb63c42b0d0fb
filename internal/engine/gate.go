package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"recoup"
	"recoup/internal/check"
	"recoup/internal/store"
)

// Blocker is an error that keeps an entity from being promoted.
type Blocker struct {
	Error store.Blocker
	Owner string    // who is to act on it
	Ends  time.Time // when it would end by itself; zero: never
}

// Gate says whether an entity may go on, and if not, why, whose turn it is and
// until when.
type Gate struct {
	EntityID string
	Blockers []Blocker
	More     bool      // there are more blockers than are listed
	Opens    time.Time // when the last of them would have ended by itself; zero: never, or it is open
}

// Blocked reports whether anything blocks.
func (g *Gate) Blocked() bool { return len(g.Blockers) > 0 }

// maxBlockers is how many blockers a gate lists.
const maxBlockers = 100

// Gate looks at an entity's gate.
func (e *Engine) Gate(ctx context.Context, entity string) (Gate, error) {
	f := check.Fields{Redactor: e.Redactor}
	f.RequiredIdentifier("entity_id", entity)
	if err := f.Err(); err != nil {
		return Gate{}, err
	}
	blockers, err := e.gates.check(ctx, entity)
	if err != nil {
		return Gate{}, err
	}
	return gate(entity, blockers), nil
}

func gate(entity string, blockers []store.Blocker) Gate {
	g := Gate{EntityID: entity, More: len(blockers) > maxBlockers}
	never := g.More
	for i := range blockers[:min(len(blockers), maxBlockers)] {
		b := Blocker{Error: blockers[i], Owner: blockers[i].Owner(), Ends: blockers[i].ExpiresAt}
		g.Blockers = append(g.Blockers, b)
		never = never || b.Ends.IsZero()
		if b.Ends.After(g.Opens) {
			g.Opens = b.Ends
		}
	}
	if never {
		g.Opens = time.Time{}
	}
	return g
}

// Promotion is a request to move an entity to its next phase.
type Promotion struct {
	EntityID string
	Phase    string
	Receipt  *store.PromotionReceipt
}

// Promoted is a promotion that was recorded.
type Promoted struct {
	ID       recoup.ID `json:"promotion_id"`
	Seq      int64     `json:"seq"`
	EntityID string    `json:"entity_id"`
	Phase    string    `json:"phase"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Repeated bool      `json:"repeated,omitempty"`
}

// CheckPromotion says what is wrong with a promotion, all of it.
func (e *Engine) CheckPromotion(p Promotion) error {
	f := check.Fields{Redactor: e.Redactor}
	f.RequiredIdentifier("entity_id", p.EntityID)
	f.RequiredIdentifier("phase", p.Phase)
	return f.Err()
}

// Promote checks the gate and records the promotion, in one transaction that no
// report can slip into. If the entity is blocked it returns store.ErrBlocked and
// the gate.
func (e *Engine) Promote(ctx context.Context, c Caller, p Promotion) (Promoted, Gate, error) {
	if err := e.CheckPromotion(p); err != nil {
		return Promoted{}, Gate{}, err
	}
	done := Promoted{ID: e.IDs.New(e.Now()), EntityID: p.EntityID, Phase: p.Phase, By: c.Name}
	recorded := func(as store.Promoted) Promoted {
		done.Seq, done.At = as.Seq, as.At
		return done
	}
	promotion := store.Promotion{ID: done.ID, Entity: p.EntityID, Phase: p.Phase, By: c.Name}
	if p.Receipt != nil {
		receipt := *p.Receipt
		receipt.Answer = func(as store.Promoted) []byte { return encode(recorded(as)) }
		promotion.Receipt = &receipt
	}
	var before *store.Repeat
	as, blockers, err := e.Store.Promote(ctx, promotion)
	switch {
	case errors.As(err, &before):
		done = Promoted{}
		err = json.Unmarshal(before.Answer, &done)
		done.Repeated = true
		return done, Gate{}, err
	case errors.Is(err, store.ErrBlocked):
		shown := make([]store.Blocker, len(blockers))
		for i := range blockers {
			shown[i] = store.BlockerOf(&blockers[i])
		}
		return Promoted{}, gate(p.EntityID, shown), err
	}
	return recorded(as), Gate{}, err
}
