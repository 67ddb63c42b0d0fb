package engine

import (
	"context"
	"fmt"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// Sweep lets the clock act on errors whose deadline of a kind has come: it expires
// them, closes their window, lapses their lease, escalates, reminds, or archives
// what is resolved. It takes at most limit of them and returns how many changed;
// what cannot change yet is left for the next time.
func (e *Engine) Sweep(ctx context.Context, d store.Deadline, limit int) (int, error) {
	now := e.Now()
	ids, err := e.Store.Due(ctx, d, now, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	told := make([]recoup.Event, len(ids)) // a verb that starts over asks again
	steps := make([]store.Step, len(ids))
	for i, id := range ids {
		steps[i] = store.Step{ID: id, Decide: func(current *recoup.Error, _ int) (recoup.Error, lifecycle.Effects, error) {
			next, effects, err := e.due(current, d, now)
			told[i] = consequence(&store.Outcome{Error: next}, effects.Event, nil)
			if d == store.DueLapse {
				told[i] = lapse(current, effects.Event)
			}
			return next, effects, err
		}}
	}
	outcomes, err := e.applySteps(ctx, now, steps)
	if err != nil {
		return 0, err
	}
	changed, events := 0, []recoup.Event(nil)
	for i := range outcomes {
		if outcomes[i].Err != nil {
			continue
		}
		changed++
		if told[i].Code != "" {
			events = append(events, told[i])
		}
	}
	e.announce(outcomes, now)
	return changed, e.record(ctx, now, events)
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

var errNotDue = fmt.Errorf("its deadline has moved: %w", store.ErrNotFound)
