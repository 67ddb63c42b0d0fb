package engine

import (
	"context"
	"fmt"

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
	steps := make([]store.Step, len(ids))
	for i, id := range ids {
		steps[i] = store.Step{ID: id, Decide: func(current *recoup.Error, _ int) (recoup.Error, lifecycle.Effects, error) {
			p := e.Policies.Of(current)
			for _, deadline := range lifecycle.Deadlines(p, current) {
				if deadline.Kind == kindOf[d] && !deadline.At.After(now) {
					return lifecycle.Step(p, current, deadline.Input, now)
				}
			}
			return recoup.Error{}, lifecycle.Effects{}, errNotDue
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
		if code := outcomes[i].Effects.Event; code != "" {
			events = append(events, recoup.Event{
				ID: e.IDs.New(now), Code: code, CorrelationID: outcomes[i].Error.CorrelationID, Service: outcomes[i].Error.Table, TS: now,
			})
		}
	}
	return changed, e.record(ctx, now, events)
}

// kindOf names what happens at a deadline.
var kindOf = map[store.Deadline]lifecycle.Kind{
	store.DueExpiry: lifecycle.Expiring, store.DueWindow: lifecycle.WindowClosed, store.DueLapse: lifecycle.LeaseLapsed,
	store.DueEscalation: lifecycle.Escalating, store.DueReminder: lifecycle.Reminding, store.DueResolved: lifecycle.Archiving,
}

var errNotDue = fmt.Errorf("its deadline has moved: %w", store.ErrNotFound)
