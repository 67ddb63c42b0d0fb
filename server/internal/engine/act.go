package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Act is an input to one error.
type Act struct {
	ID      recoup.ID
	Input   lifecycle.Input
	Seen    Member // as a preview has shown it; zero: it may have changed
	Receipt *store.Receipt
	Brief   bool // of the outcome of a result, what was decided is answer enough
}

// Apply applies inputs in order, each answered for itself: a person's acts and
// workers' results alike. What people write is cleaned first.
func (e *Engine) Apply(ctx context.Context, c Caller, acts []Act) ([]store.Outcome, error) {
	if len(acts) > MaxBatch {
		return nil, tooMany(len(acts))
	}
	return batch.Each(ctx, len(acts), func(i int) (store.Step, error) {
		in, err := e.clean(c, acts[i].Input)
		if err != nil {
			return store.Step{}, err
		}
		return e.step(c, acts[i], in), nil
	}, func(ctx context.Context, steps []store.Step) ([]store.Outcome, error) {
		outcomes, err := e.applySteps(ctx, steps)
		e.announce(outcomes)
		return outcomes, err
	}, func(_ int, o *store.Outcome, err error) (store.Outcome, error) {
		if o == nil {
			return refused(err), nil
		}
		_, err = recall(o)
		return *o, err
	})
}

func (e *Engine) applySteps(ctx context.Context, steps []store.Step) ([]store.Outcome, error) {
	return batch.Apart(steps, func(part []store.Step) ([]store.Outcome, error) {
		return Renewed(ctx, e.Policies, func() ([]store.Outcome, error) { return e.Store.ApplySteps(ctx, time.Time{}, part) })
	}, refused)
}

// refused is the outcome of what the database refuses.
func refused(err error) store.Outcome { return store.Outcome{Err: err} }

// One applies an input to one error.
func (e *Engine) One(ctx context.Context, c Caller, act Act) (store.Outcome, error) {
	out, err := e.Apply(ctx, c, []Act{act})
	if err != nil {
		return store.Outcome{}, err
	}
	return out[0], out[0].Err
}

func (e *Engine) step(c Caller, act Act, in lifecycle.Input) store.Step {
	return store.Step{
		ID: act.ID, Receipt: receipt(act.Receipt), EventOf: e.consequence(in), Result: e.result(c, act, in),
		Family: func(current *recoup.Error) string {
			return lifecycle.Family(e.Policies.Of(current), current, in)
		},
		Decide: func(current *recoup.Error, streak int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			if err := e.may(c, current.Table); err != nil {
				return recoup.Error{}, lifecycle.Effects{}, err
			}
			if err := act.Seen.Unchanged(current.UpdatedAt); err != nil {
				return recoup.Error{}, lifecycle.Effects{}, err
			}
			return lifecycle.Step(e.Policies.Of(current), current, withStreak(in, streak), now)
		},
	}
}

// resultLike is what results have in common that are decided alike: who decides,
// for whom, and what was said.
type resultLike struct {
	by   *Engine
	hubs string
	in   lifecycle.Input
}

// result lets the word of a worker be decided together with others of the same
// kind; nil for everything else.
func (e *Engine) result(c Caller, act Act, in lifecycle.Input) *store.Result {
	if act.Seen != (Member{}) {
		return nil
	}
	like := resultLike{by: e, hubs: strings.Join(c.Hubs, "\n")}
	var token recoup.ID
	switch in := in.(type) {
	case lifecycle.Succeed:
		token, in.Token = in.Token, recoup.ID{}
		like.in = in
	case lifecycle.Fail:
		token, in.Token = in.Token, recoup.ID{}
		like.in = in
	default:
		return nil
	}
	return &store.Result{Token: token, Like: like, Brief: act.Brief}
}

// withStreak adds to a failure how many of its family came before it.
func withStreak(in lifecycle.Input, streak int) lifecycle.Input {
	if fail, ok := in.(lifecycle.Fail); ok {
		fail.Failure.Streak = streak
		return fail
	}
	return in
}

// CheckInput says everything that is wrong with an input that a person or a worker
// asks for, and does nothing.
func (e *Engine) CheckInput(in lifecycle.Input) error {
	_, err := e.clean(Caller{}, in)
	return err
}

// clean checks and cleans what a person or a worker wrote into an input, and
// puts the caller's name on it.
func (e *Engine) clean(c Caller, in lifecycle.Input) (lifecycle.Input, error) {
	f := check.Fields{Redactor: e.Redactor}
	note := func(s string) string { return f.Text("reason", s, check.MaxReason) }
	switch act := in.(type) {
	case lifecycle.ActInput:
		name, said := act.Act()
		in = lifecycle.NewAct(name, c.Name, cleanAct(&f, name, said))
	case lifecycle.Succeed:
		act.Reason = note(act.Reason)
		in = act
	case lifecycle.Fail:
		act.Reason = note(act.Reason)
		in = act
	case lifecycle.Extend:
	default:
		return nil, errors.New("engine: an input of the clock cannot be asked for")
	}
	return in, f.Err()
}

// cleanAct checks and cleans what a person says with an act.
func cleanAct(f *check.Fields, name recoup.ActName, said recoup.Act) recoup.Act {
	kind := name.Kind()
	if kind.Owner {
		check.Normalize(&said.To)
		f.RequiredIdentifier("to", said.To)
	}
	if kind.Reason {
		said.Reason = f.RequiredText("reason", said.Reason, check.MaxReason)
	} else {
		said.Reason = f.Text("reason", said.Reason, check.MaxReason)
	}
	return said
}

// Failure classifies what a worker says went wrong.
func (e *Engine) Failure(code string, proven []recoup.Condition, retryAfter time.Duration) (lifecycle.Failure, error) {
	f := check.Fields{Redactor: e.Redactor}
	def, folded := e.fold(code, &f)
	if err := f.Err(); err != nil {
		return lifecycle.Failure{}, err
	}
	return lifecycle.Failure{
		Code: folded, Class: def.Effective(holds(def, proven)), Category: def.Category, RetryAfter: max(retryAfter, 0),
	}, nil
}
