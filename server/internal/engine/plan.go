package engine

import (
	"context"
	"iter"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Plan says what judging the open errors that the caller may see by another
// version of the policy would change: exactly what [Engine.Rebase] does, if the
// errors stay as they are until then. Nothing is changed.
func (e *Engine) Plan(ctx context.Context, c Caller, next *policy.Policy) (Plan, error) {
	plan := newPlan(next)
	for x, err := range e.Predict(ctx, c, next) {
		if err != nil {
			return Plan{}, err
		}
		plan.add(next, &x)
	}
	return plan.done(), nil
}

// Predict yields what would become of each open error, newest first, for those
// who want more than a plan's first hundred. It reads as it is asked, page by
// page; an error ends it.
func (e *Engine) Predict(ctx context.Context, c Caller, next *policy.Policy) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		if err := e.Policies.clash(next); err != nil {
			yield(Prediction{}, err)
			return
		}
		now := e.Now()
		for page, err := range e.open(ctx, c, sqldb.MaxPage) {
			if err != nil {
				yield(Prediction{}, err)
				return
			}
			for i := range page {
				after, _, err := e.rebased(c, next, &page[i], lifecycle.Rebase{By: c.Name}, now)
				if broken(err) {
					yield(Prediction{}, err)
					return
				}
				if !yield(predicted(page[i], after, err), nil) {
					return
				}
			}
		}
	}
}

// open yields the open errors that the caller may see, newest first, in pages.
func (e *Engine) open(ctx context.Context, c Caller, size int) iter.Seq2[[]recoup.Error, error] {
	return func(yield func([]recoup.Error, error) bool) {
		page := sqldb.Page{Limit: size}
		for {
			found, next, err := e.Errors(ctx, c, store.Filter{}, page)
			open := found[:0]
			for i := range found {
				if found[i].State.Open() {
					open = append(open, found[i])
				}
			}
			if !yield(open, err) || err != nil || next.IsZero() {
				return
			}
			page.Cursor = next
		}
	}
}

// rebased asks what the next version makes of an error, given the version that
// has judged it so far, if that is known.
func (e *Engine) rebased(c Caller, next *policy.Policy, current *recoup.Error, in lifecycle.Rebase, now time.Time) (recoup.Error, lifecycle.Effects, error) {
	if err := e.may(c, current.Table); err != nil {
		return recoup.Error{}, lifecycle.Effects{}, err
	}
	in.From = e.Policies.version(current.PolicyVersion)
	return lifecycle.Step(next, current, in, now)
}

func predicted(before, after recoup.Error, kept error) Prediction {
	x := Prediction{Before: before, After: after, Kept: kept}
	if kept == nil {
		x.Changes = differences(&before, &after)
	}
	return x
}

// clash refuses a policy that goes by the version of another: errors record the
// version that judges them, so it must not mean two things.
func (s *Policies) clash(next *policy.Policy) error {
	if known := s.version(next.Version); known != nil && known.Text() != next.Text() {
		return fault.New(fault.CodeDuplicateRecord, "Version %s is that of another policy: give the file a version of its own.", next.Version).
			With("version", next.Version)
	}
	return nil
}
