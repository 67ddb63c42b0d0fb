package deadletter

import (
	"cmp"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// MaxLapses is how many workers may be lost over a piece of work before it is a
// dead letter: it may be what kills them.
const MaxLapses = 3

var errHeld = fault.New(fault.CodeConflict, "A worker holds it.")

// take decides a claim of work that is due. Work over which too many workers were
// lost is set aside, for the system to dead-letter.
func take(q recoup.WorkItem, l recoup.Lease) (recoup.WorkItem, error) {
	now := l.LeasedAt
	switch {
	case q.DueAt.IsZero(), q.DueAt.After(now), q.Leased(now):
		return q, errHeld
	case q.Lapsed(now):
		q.Lapses++
	}
	if q.Lapses >= MaxLapses {
		q.Lease, q.DueAt = recoup.Lease{}, time.Time{}
		return q, nil
	}
	return q.Under(l), nil
}

// holds is the fence: only the token of the present lease may speak.
func holds(l *store.StagedWork, token recoup.ID) error {
	if !l.Queued.HeldBy(token) {
		return leaseLost(l)
	}
	return nil
}

// leaseLost says what became of work that a worker no longer holds.
func leaseLost(l *store.StagedWork) error {
	instead := "it is done, or was never submitted"
	switch q, d := &l.Queued, &l.Dead; {
	case !q.LeaseToken.IsZero():
		instead = "now held by " + q.LeaseWorker
	case !q.WorkID.IsZero():
		instead = "it waits for a worker"
	case d.Open():
		instead = fmt.Sprintf("it is a dead letter, %s", d.Step)
	case !l.Previous.ErrorID.IsZero():
		instead = "its dead letter is closed"
	}
	e := fault.New(fault.CodeLeaseLost, "The lease of this work is gone: %s.", instead)
	if id := cmp.Or(l.Dead.ErrorID, l.Previous.ErrorID); !id.IsZero() {
		e = e.With("error_id", id.String())
	}
	return e
}

// extend prolongs a lease from now on.
func extend(token recoup.ID, length time.Duration) store.DecideStaged {
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		if err := holds(&l, token); err != nil {
			return l, store.StagedEffects{}, err
		}
		l.Queued.LeaseEndsAt = now.Add(length)
		l.Queued.DueAt = l.Queued.LeaseEndsAt
		return l, store.StagedEffects{}, nil
	}
}

// release gives work back that its worker could not finish through no fault of
// the work: nothing counts. It is due at once; what comes back again and again
// waits longer each time, a minute at most.
func release(token recoup.ID) store.DecideStaged {
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		if err := holds(&l, token); err != nil {
			return l, store.StagedEffects{}, err
		}
		again := time.Duration(min(l.Queued.Claims-1, 60)) * time.Second
		l.Queued.Lease, l.Queued.DueAt = recoup.Lease{}, now.Add(again)
		return l, store.StagedEffects{}, nil
	}
}

// succeed ends work that is done. Of a replay, its dead letter waits to be
// verified; of other work nothing is left.
func (s *Service) succeed(token recoup.ID) store.DecideStaged {
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		var effects store.StagedEffects
		if err := holds(&l, token); err != nil {
			return l, effects, err
		}
		worker := l.Queued.LeaseWorker
		l.Queued = recoup.WorkItem{}
		if !l.Dead.Open() {
			effects.Forget = true
			return l, effects, nil
		}
		if err := s.move(&l, &effects, lifecycle.Return{By: worker, Reason: "the replay worked", Expires: l.Dead.HeldExpiry}, now); err != nil {
			return l, effects, err
		}
		l.Item.State, l.Item.EndedAt, l.Item.Worker = recoup.ItemSucceeded, now, worker
		l.Dead.Step, l.Dead.HeldExpiry, l.Dead.UpdatedAt = recoup.StepReplayed, time.Time{}, now
		effects.Notes = []recoup.Note{{ErrorID: l.Dead.ErrorID, Round: l.Dead.Round, Step: recoup.StepReplayed, Actor: cmp.Or(worker, recoup.System), At: now}}
		return l, effects, nil
	}
}

// enter puts new work into the queue, due after its delay. Work that is there already stays as it is.
func enter(in recoup.NewWorkItem, payload store.Payload) store.DecideStaged {
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		switch {
		case l.Dead.Open():
			return l, store.StagedEffects{}, fault.New(fault.CodeConflict, "This work is a dead letter: it goes back to work by a replay.").
				With("error_id", l.Dead.ErrorID.String()).With("step", string(l.Dead.Step))
		case !l.Queued.WorkID.IsZero() && l.Queued.Pipeline != in.Pipeline:
			return l, store.StagedEffects{}, taken()
		case !l.Queued.WorkID.IsZero():
			return l, store.StagedEffects{}, nil
		}
		l.Queued = recoup.WorkItem{
			WorkID: in.WorkID, Pipeline: in.Pipeline, Stage: in.Stage, EntityID: in.EntityID, PayloadRef: in.PayloadRef, PayloadHash: in.PayloadHash,
			CreatedAt: now, DueAt: now.Add(lease.Seconds(in.DelaySeconds)),
		}
		return l, store.StagedEffects{Payload: payload}, nil
	}
}
