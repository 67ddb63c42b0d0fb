package engine

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// maxOperations is how many operations the scheduler looks after at a time.
const maxOperations = 20

// CarryOperations carries out a chunk of every operation that runs. All state is in the
// store, so that any node may call it at any time, also concurrently. It returns how many
// members got their result, and whether there is more to do at once.
func (e *Engine) CarryOperations(ctx context.Context) (done int, more bool, err error) {
	ids, err := e.Store.RunningOperations(ctx, maxOperations)
	for _, id := range ids {
		before, failed := e.Store.Operation(ctx, id)
		if failed == nil {
			var o recoup.Operation
			if o, failed = e.carry(ctx, id); failed == nil {
				done += before.Pending() - o.Pending()
				more = more || o.State == recoup.OperationRunning
			}
		}
		err = errors.Join(err, failed)
	}
	return done, more, err
}

// carry carries out the next chunk of an operation. Where the database refuses a chunk, it
// takes fewer and fewer members, until it is known which one is refused.
func (e *Engine) carry(ctx context.Context, id recoup.ID) (recoup.Operation, error) {
	for size := bulkChunk; ; size /= 2 {
		by := &carrier{engine: e}
		o, err := e.Store.CarryOperation(ctx, time.Time{}, id, size, by)
		if err == nil {
			e.announce(by.outcomes)
		}
		if !errors.Is(err, store.ErrRefused) {
			return o, err
		}
		if size == 1 {
			return e.Store.CarryOperation(ctx, time.Time{}, id, 1, &carrier{engine: e, refused: err})
		}
	}
}

// carrier does what an operation is about with its members, in the name of who has
// confirmed it.
type carrier struct {
	engine   *Engine
	refused  error // what the database says of the next member, on which nothing is tried
	outcomes []store.Outcome
}

// Steps implements [store.Carrier].
func (by *carrier) Steps(o *recoup.Operation, next []recoup.OperationItem) []store.Step {
	e, c := by.engine, Caller{Name: o.ConfirmedBy}
	if o.Hub != "" {
		c.Hubs = []string{o.Hub}
	}
	input, bad := e.clean(c, lifecycle.NewAct(recoup.ActName(o.Act), c.Name, o.Input))
	if bad == nil {
		bad = by.refused
	}
	steps := make([]store.Step, len(next))
	for i := range next {
		steps[i] = e.step(c, Act{ID: next[i].ErrorID, Seen: Member{next[i].ErrorID, next[i].SeenAt}}, input)
		if bad != nil {
			steps[i].Decide = func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
				return recoup.Error{}, lifecycle.Effects{}, bad
			}
		}
	}
	return steps
}

// Settle implements [store.Carrier].
func (by *carrier) Settle(o recoup.Operation, next []recoup.OperationItem, outcomes []store.Outcome, last bool, now time.Time) recoup.Operation {
	by.outcomes = outcomes
	for i := range next {
		if err := outcomes[i].Err; err != nil {
			by.engine.refuse(&next[i], err, now)
			o.Refused++
			continue
		}
		next[i].Result, next[i].EndedAt = recoup.ResultApplied, now
		o.Applied++
	}
	if last {
		o = ended(o, recoup.OperationDone, o.StateBy, "", now)
	}
	return o
}
