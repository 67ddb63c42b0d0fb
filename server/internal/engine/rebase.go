package engine

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// RebaseResult is what a rebase has changed.
type RebaseResult struct {
	Plan
	Ended int `json:"ended" doc:"errors that ended or went before their turn came"`
}

// rebaseChunk is how many errors one transaction of a rebase changes.
const rebaseChunk = 200

// Rebase judges the open errors that the caller may see by another version of
// the policy, in chunks, newest errors first, and reports how far it has come. What
// it does to an error is what [Engine.Plan] says.
//
// The store must have the version's tables, and new errors must be admitted by
// it already, or some would be missed. A rebase that was cut off has committed whole
// chunks and says which; run again, it skips what has the version already.
// An error that the database refuses to change stays with its version.
func (e *Engine) Rebase(ctx context.Context, c Caller, next *policy.Policy, reason string, progress func(done, total int)) (RebaseResult, error) {
	f := check.Fields{Redactor: e.Redactor}
	in := lifecycle.Rebase{By: c.Name, Reason: f.RequiredText("reason", reason, check.MaxReason)}
	if err := f.Err(); err != nil {
		return RebaseResult{}, err
	}
	if err := e.Policies.clash(next); err != nil {
		return RebaseResult{}, err
	}
	total, err := e.countOpen(ctx, c)
	if err != nil {
		return RebaseResult{}, err
	}
	r := rebase{Engine: e, caller: c, next: next, in: in, plan: newPlan(next)}
	for page, err := range e.open(ctx, c, rebaseChunk) {
		if err == nil {
			err = r.apply(ctx, page)
		}
		if err != nil {
			return r.result(), err
		}
		if done := r.plan.Open + r.ended; progress != nil {
			progress(done, max(done, total))
		}
	}
	e.Wake()
	return r.result(), nil
}

// countOpen returns about how many errors there are to look at.
func (e *Engine) countOpen(ctx context.Context, c Caller) (int, error) {
	counts, err := e.Counts(ctx, c)
	total := 0
	for _, n := range counts {
		if n.State.Open() {
			total += int(n.N)
		}
	}
	return total, err
}

// rebase is a rebase under way.
type rebase struct {
	*Engine
	caller Caller
	next   *policy.Policy
	in     lifecycle.Rebase
	plan   *Plan
	ended  int
}

func (r *rebase) result() RebaseResult { return RebaseResult{Plan: r.plan.done(), Ended: r.ended} }

// apply changes errors in one transaction, but for those that the database
// refuses to change.
func (r *rebase) apply(ctx context.Context, errs []recoup.Error) error {
	before := make([]recoup.Error, len(errs))
	steps := make([]store.Step, len(errs))
	for i := range errs {
		before[i] = errs[i]
		steps[i] = store.Step{ID: errs[i].ID, Decide: r.decide(&before[i])}
	}
	outcomes, err := r.applySteps(ctx, steps)
	if err != nil {
		return err
	}
	for i := range outcomes {
		r.count(before[i], &outcomes[i])
	}
	return nil
}

// decide notes what the error was when it was decided about.
func (r *rebase) decide(before *recoup.Error) store.Decide {
	return func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		*before = *current
		return r.rebased(r.caller, r.next, current, r.in, now)
	}
}

func (r *rebase) count(before recoup.Error, o *store.Outcome) {
	if !before.State.Open() || errors.Is(o.Err, sqldb.ErrNotFound) {
		r.ended++
		return
	}
	x := predicted(before, o.Error, o.Err)
	r.plan.add(r.next, &x)
}
