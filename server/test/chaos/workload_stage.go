package chaos

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

const (
	pipeline = "chaos"
	fetch    = "fetch"
)

// submit puts work into the queue; every other piece names an entity.
func (a *actor) submit(ctx context.Context) {
	id := a.IDs.New(a.Now())
	w := recoup.NewWorkItem{WorkID: id, Pipeline: pipeline, Stage: fetch, Payload: []byte("in")}
	if a.random.IntN(2) == 0 {
		w.EntityID = a.entity()
	}
	a.one(ctx, Operation{Kind: Submit, Key: id.String(), ID: id, Entity: w.EntityID}, func(ctx context.Context, c *client.Client, key client.CallOption, _ *Operation) error {
		items, err := c.Work.Submit(ctx, []recoup.NewWorkItem{w}, key, client.NoRetry())
		if err == nil {
			_, err = items[0].Get()
		}
		return err
	})
}

// claimWork takes staged work. An answer that is lost has leased it to nobody.
func (a *actor) claimWork(ctx context.Context, limit int) []Operation {
	op := Operation{Kind: ClaimWork, Key: a.key()}
	return a.try(ctx, []Operation{op}, func(ctx context.Context, c *client.Client, _ client.CallOption) ([]Operation, error) {
		works, err := c.Work.Claim(ctx, recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: fetch}}, Worker: a.name, Limit: limit, LeaseSeconds: 2}, client.NoRetry())
		if err != nil {
			return nil, err
		}
		done := []Operation{}
		for _, w := range works {
			o := op
			o.Outcome, o.ID, o.Token, o.LeasedAt, o.LeaseEnds = OK, w.WorkID, w.LeaseToken, w.LeasedAt, w.LeaseEndsAt
			done = append(done, o)
		}
		return done, nil
	})
}

// stage does staged work: three in five succeed, one is left, one fails for good.
func (a *actor) stage(ctx context.Context) {
	for _, lease := range a.claimWork(ctx, 3) {
		switch choice := a.random.IntN(5); {
		case lease.Outcome != OK || choice == 0:
		case choice == 1:
			a.failWork(ctx, lease)
		default:
			a.finishWork(ctx, lease)
		}
	}
}

// drain does all that there is.
func (a *actor) drain(ctx context.Context) {
	for _, lease := range a.claimWork(ctx, 100) {
		if lease.Outcome == OK {
			a.finishWork(ctx, lease)
		}
	}
}

func (a *actor) finishWork(ctx context.Context, lease Operation) {
	op := Operation{Kind: FinishWork, Key: a.key(), ID: lease.ID, Token: lease.Token}
	a.one(ctx, op, func(ctx context.Context, c *client.Client, key client.CallOption, _ *Operation) error {
		_, err := c.Work.Result(ctx, recoup.WorkResult{WorkID: lease.ID, LeaseToken: lease.Token, Outcome: "succeed"}, key, client.NoRetry())
		return err
	})
}

func (a *actor) failWork(ctx context.Context, lease Operation) {
	op := Operation{Kind: FailWork, Key: a.key(), ID: lease.ID, Token: lease.Token}
	now := a.Now()
	failure := &recoup.StageFailure{
		Stage: fetch, Class: fault.CodeValidationError, Final: true, LastStack: "none", Context: map[string]any{"attempts": map[string]any{fetch: 1}},
		FirstFailureAt: now, LastFailureAt: now,
	}
	var dead *recoup.DeadLetter
	done := a.one(ctx, op, func(ctx context.Context, c *client.Client, key client.CallOption, _ *Operation) error {
		answer, err := c.Work.Result(ctx, recoup.WorkResult{WorkID: lease.ID, LeaseToken: lease.Token, Outcome: "fail", Failure: failure}, key, client.NoRetry())
		dead = answer.DeadLetter
		return err
	})
	if done.Outcome == OK && dead != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.letters = append(a.letters, letter{dead.ErrorID, dead.Stage})
	}
}

// replay takes the next dead letter one step of its workflow further, and puts it
// back until it is verified.
func (a *actor) replay(ctx context.Context) {
	a.mu.Lock()
	if len(a.letters) == 0 {
		a.mu.Unlock()
		return
	}
	l := a.letters[0]
	a.letters = a.letters[1:]
	a.mu.Unlock()
	known, err := a.Nodes[a.random.IntN(len(a.Nodes))].DeadLetters.Get(ctx, l.id, client.NoRetry())
	if err == nil && a.advance(ctx, known.DeadLetter) {
		return // it is through
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.letters = append(a.letters, l)
}

// advance takes one step, and reports whether it was the last.
func (a *actor) advance(ctx context.Context, d recoup.DeadLetter) (through bool) {
	op := Operation{Key: a.key(), ID: d.ErrorID}
	var call func(context.Context, *client.Client, client.CallOption, *Operation) error
	step := func(kind Kind, send func(context.Context, *client.Client, client.CallOption) error) {
		op.Kind = kind
		call = func(ctx context.Context, c *client.Client, key client.CallOption, _ *Operation) error {
			return send(ctx, c, key)
		}
	}
	switch d.Step {
	case recoup.StepNew:
		exhausted := d.Exhausted
		step(Triage, func(ctx context.Context, c *client.Client, key client.CallOption) error {
			_, err := c.DeadLetters.Triage(ctx, d.ErrorID, recoup.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &exhausted, Note: op.Key}, key, client.NoRetry())
			return err
		})
	case recoup.StepTriaged:
		step(Remediate, func(ctx context.Context, c *client.Client, key client.CallOption) error {
			_, err := c.DeadLetters.Remediate(ctx, d.ErrorID, recoup.Remediation{Link: "https://tickets.example/1", Corrected: "the source", Note: op.Key}, key, client.NoRetry())
			return err
		})
	case recoup.StepRemediated:
		step(Validate, func(ctx context.Context, c *client.Client, key client.CallOption) error {
			_, err := c.DeadLetters.Validate(ctx, d.ErrorID, recoup.Validation{Idempotent: true, Note: op.Key}, key, client.NoRetry())
			return err
		})
	case recoup.StepValidated:
		op.Kind = Replay // it takes no key, and is therefore not repeated
		a.try(ctx, []Operation{op}, func(ctx context.Context, c *client.Client, _ client.CallOption) ([]Operation, error) {
			_, err := c.DeadLetters.Replay(ctx, d.ErrorID, recoup.SingleReplay{Reason: op.Key}, client.NoRetry())
			done := op
			done.Outcome = OK
			return []Operation{done}, err
		})
		return false
	case recoup.StepReplayed:
		step(Verify, func(ctx context.Context, c *client.Client, key client.CallOption) error {
			_, err := c.DeadLetters.Verify(ctx, d.ErrorID, recoup.Verification{Outcome: recoup.Delivered, Note: op.Key}, key, client.NoRetry())
			return err
		})
	default:
		return d.Step == recoup.StepVerified
	}
	return a.one(ctx, op, call).Outcome == OK && op.Kind == Verify
}
