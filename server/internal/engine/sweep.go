package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Sweep lets the clock act on errors whose deadline of a kind has come: it expires
// them, closes their window, ends their lease, escalates, reminds, or archives
// what is resolved. It takes limit of them at a time and returns how many changed.
// What cannot change yet, because a worker holds it or the database refuses it, is left
// for the next time and keeps nothing that comes after it waiting: the sweep goes on
// behind it, until limit have changed or there are no more.
func (e *Engine) Sweep(ctx context.Context, d store.Deadline, limit int) (changed int, err error) {
	for held := 0; held < maxHeld; {
		tried, moved, stuck, err := e.sweep(ctx, d, held, limit)
		changed, held = changed+moved, held+stuck
		if err != nil || tried < limit || stuck == 0 || changed >= limit {
			return changed, err
		}
	}
	return changed, nil
}

// maxHeld is how many errors that cannot change yet a sweep goes past.
const maxHeld = 10_000

// sweep acts on errors behind the first ones. It returns how many it has tried, how
// many of those changed, and how many are due and could not.
func (e *Engine) sweep(ctx context.Context, d store.Deadline, skip, limit int) (tried, changed, stuck int, err error) {
	now := e.Now()
	ids, err := e.Store.Due(ctx, d, now, skip, limit)
	tried, apart := len(ids), e.refused.apart(d, now)
	ids = slices.DeleteFunc(ids, func(id recoup.ID) bool { return slices.Contains(apart, id) })
	if stuck = tried - len(ids); err != nil || len(ids) == 0 {
		return tried, 0, stuck, err
	}
	event := e.consequence(nil)
	if d == store.DueLapse {
		event = e.leaseExpired
	}
	held := make([]bool, len(ids)) // a verb that starts over asks again
	steps := make([]store.Step, len(ids))
	for i, id := range ids {
		steps[i] = store.Step{ID: id, EventOf: event, Result: e.together(d), Decide: func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			next, effects, err := e.due(current, d, now)
			held[i] = err != nil && current.Leased(now) && expires(current, d, now)
			return next, effects, err
		}}
	}
	outcomes, err := e.applySteps(ctx, steps)
	if err != nil {
		return tried, 0, 0, err
	}
	for i := range outcomes {
		switch err := outcomes[i].Err; {
		case err == nil:
			changed++
		case errors.Is(err, store.ErrRefused):
			e.setApart(ctx, ids[i], d, err, now)
			stuck++
		case held[i]:
			stuck++
		}
	}
	e.announce(outcomes)
	return tried, changed, stuck, nil
}

// setApart sets an error apart that the database refuses to change. If there is no room
// left for it the next sweep tries it again.
func (e *Engine) setApart(ctx context.Context, id recoup.ID, d store.Deadline, refusal error, now time.Time) {
	found, err := e.Store.Error(ctx, id)
	if err != nil {
		found.ID = id
	}
	e.refused.add(&found, d, refusal, now)
}

// sweepLike is what errors have in common whose deadline is decided alike: who decides,
// and the kind of deadline.
type sweepLike struct {
	by   *Engine
	kind store.Deadline
}

// together lets what ends errors by the thousand be decided together; nil for all else.
func (e *Engine) together(d store.Deadline) *store.Result {
	if d != store.DueExpiry && d != store.DueResolved {
		return nil
	}
	return &store.Result{Like: sweepLike{e, d}, Brief: true}
}

// expires reports whether it is an expiry that is due: the one deadline that is due
// in the store while a live lease still holds it up.
func expires(e *recoup.Error, d store.Deadline, now time.Time) bool {
	return d == store.DueExpiry && e.State.Open() && !e.ExpiresAt.After(now)
}

// due applies to an error what its deadline of a kind causes, if it has come.
func (e *Engine) due(current *recoup.Error, d store.Deadline, now time.Time) (recoup.Error, lifecycle.Effects, error) {
	p := e.Policies.Of(current)
	for _, deadline := range lifecycle.Deadlines(p, current) {
		if deadline.Kind == kindOf[d] && !deadline.At.After(now) {
			return lifecycle.Step(p, current, deadline.Input, now)
		}
	}
	return *current, lifecycle.Effects{}, errNotDue
}

// kindOf names what happens at a deadline.
var kindOf = map[store.Deadline]lifecycle.Kind{
	store.DueExpiry: lifecycle.Expiring, store.DueWindow: lifecycle.WindowClosed, store.DueLapse: lifecycle.LeaseLapsed,
	store.DueEscalation: lifecycle.Escalating, store.DueReminder: lifecycle.Reminding, store.DueResolved: lifecycle.Archiving,
}

var errNotDue = fmt.Errorf("its deadline has moved: %w", sqldb.ErrNotFound)
