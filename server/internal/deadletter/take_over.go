package deadletter

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// TakenOver is the dead letter that an error becomes whose work is in a queue of
// somebody else's (decision 0086).
type TakenOver struct {
	ID      recoup.ID           // of the dead letter
	Failure recoup.StageFailure // its work is named by the error
	Attach  *store.Attachment   // written with the dead letter: its job
}

// TakeOver makes dead letters of errors that the policy has parked. Each takes the place
// of its error, which is resolved in the same transaction: at no moment is neither there to
// block their entity, and whoever does it again finds the error resolved. The ledger has
// the failure already.
func (s *Service) TakeOver(ctx context.Context, c engine.Caller, list []TakenOver) ([]Done, error) {
	if len(list) > MaxBatch {
		return nil, tooMany(len(list))
	}
	return s.each(ctx, len(list), func(i int) (store.StagedStep, error) {
		in := &list[i]
		decide, err := s.failedAs(in.ID, c, in.Failure, fenced)
		return store.StagedStep{
			WorkID: in.Failure.WorkID, Attach: in.Attach,
			Decide: func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
				next, effects, err := decide(l, now)
				effects.Event = ""
				return next, effects, err
			},
			Instead: &store.Step{ID: in.Failure.WorkID, Decide: s.makeWay(c.Name, in.ID)},
		}, err
	})
}

// makeWay resolves an error whose place a dead letter takes. One that a person has parked
// or sent back to be retried is that person's.
func (s *Service) makeWay(by string, id recoup.ID) store.Decide {
	return func(e *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		if e.State != recoup.Parked && e.State != recoup.Escalated || e.ParkedBy != recoup.System {
			return *e, lifecycle.Effects{}, fault.New(fault.CodeConflict, "The policy has not parked it, or not any more.")
		}
		return lifecycle.Step(s.Policies.Of(e), e, lifecycle.Resolve{By: by, Reason: "dead letter " + id.String()}, now)
	}
}
