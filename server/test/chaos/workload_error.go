package chaos

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// failure is one to report: half of them are retried, the others wait for people.
func (a *actor) failure() (recoup.Report, Operation) {
	correlation := a.IDs.New(a.Now())
	code := fault.CodeNetworkTimeout
	if a.random.IntN(2) == 0 {
		code = fault.CodeValidationError
	}
	r := recoup.Report{Table: tables[a.random.IntN(len(tables))], EntityID: a.entity(), Code: string(code), CorrelationID: correlation}
	return r, Operation{Kind: Report, Key: correlation.String(), Entity: r.EntityID}
}

func (a *actor) report(ctx context.Context) {
	r, op := a.failure()
	done := a.one(ctx, op, func(ctx context.Context, c *client.Client, key client.CallOption, o *Operation) error {
		made, err := c.Report(ctx, r, key, client.NoRetry())
		o.ID = made.Error.ID
		return err
	})
	if done.Outcome == OK {
		a.remember(done.ID)
	}
}

func (a *actor) reportMany(ctx context.Context) {
	reports, parts := make([]recoup.Report, 4), make([]Operation, 4)
	for i := range reports {
		reports[i], parts[i] = a.failure()
	}
	a.insist(ctx, parts, func(ctx context.Context, c *client.Client, key client.CallOption) ([]Operation, error) {
		items, err := c.ReportBatch(ctx, reports, key, client.NoRetry())
		if err != nil {
			return nil, err
		}
		done := slices.Clone(parts)
		for i, item := range items {
			made, err := item.Get()
			done[i].Outcome, done[i].ID = OK, made.Error.ID
			if err != nil {
				done[i].Outcome, done[i].Code = judge(err)
			}
		}
		return done, nil
	})
}

// emit sends events, which are their own keys.
func (a *actor) emit(ctx context.Context) {
	n := 1 + a.random.IntN(a.Batch)
	events, parts := make([]recoup.Event, n), make([]Operation, n)
	for i := range events {
		now := a.Now()
		id := a.IDs.New(now)
		events[i] = recoup.Event{ID: id, TS: now, Code: fault.CodeNetworkTimeout, Service: "chaos"}
		parts[i] = Operation{Kind: Event, Key: id.String(), ID: id}
	}
	a.insist(ctx, parts, func(ctx context.Context, c *client.Client, _ client.CallOption) ([]Operation, error) {
		accepted, err := c.SendEvents(ctx, events, client.NoRetry())
		done := slices.Clone(parts)
		for i := range done {
			done[i].Outcome = OK
			if !accepted.Durable {
				done[i].Outcome = Unknown
			}
		}
		return done, err
	})
}

// work claims what is due and says how it went: well, badly, after a while, too
// late, or nothing at all. A claim whose answer is lost has leased errors to nobody.
func (a *actor) work(ctx context.Context) {
	op := Operation{Kind: Claim, Key: a.key()}
	claimed := a.try(ctx, []Operation{op}, func(ctx context.Context, c *client.Client, _ client.CallOption) ([]Operation, error) {
		errs, err := c.Retries.Claim(ctx, recoup.RetryClaim{Worker: a.name, Limit: 1 + a.random.IntN(4), LeaseSeconds: 1 + a.random.IntN(2)}, client.NoRetry())
		if err != nil {
			return nil, err
		}
		done := []Operation{}
		for _, e := range errs {
			o := op
			o.Outcome, o.ID, o.Entity = OK, e.ID, e.EntityID
			o.Token, o.LeasedAt, o.LeaseEnds = e.LeaseToken, e.LeasedAt, e.LeaseEndsAt
			done = append(done, o)
		}
		return done, nil
	})
	for _, lease := range claimed {
		if lease.Outcome == OK {
			a.settle(ctx, lease)
		}
	}
}

// settle ends an attempt, or leaves it.
func (a *actor) settle(ctx context.Context, lease Operation) {
	op := Operation{Key: a.key(), ID: lease.ID, Entity: lease.Entity, Token: lease.Token, LeasedAt: lease.LeasedAt}
	result := recoup.RetryResult{ErrorID: lease.ID, LeaseToken: lease.Token}
	choice := a.random.IntN(10)
	switch {
	case choice == 0: // the worker is lost
		return
	case choice == 1: // it is late
		_ = retry.Sleep(ctx, 1500*time.Millisecond)
	case choice <= 3:
		extend := op
		extend.Kind, extend.Key = Extend, a.key()
		a.one(ctx, extend, func(ctx context.Context, c *client.Client, key client.CallOption, o *Operation) error {
			r := result
			r.LeaseSeconds = 2
			acted, err := c.Retries.Extend(ctx, r, key, client.NoRetry())
			o.LeaseEnds = acted.Error.LeaseEndsAt
			return err
		})
	}
	op.Kind = Succeed
	if choice >= 7 {
		op.Kind, result.Code = Fail, string(fault.CodeNetworkTimeout)
	}
	a.one(ctx, op, func(ctx context.Context, c *client.Client, key client.CallOption, _ *Operation) (err error) {
		if op.Kind == Fail {
			_, err = c.Retries.Fail(ctx, result, key, client.NoRetry())
		} else {
			_, err = c.Retries.Succeed(ctx, result, key, client.NoRetry())
		}
		return err
	})
}

// promote asks whether an entity may go on, and promotes it whatever the answer.
func (a *actor) promote(ctx context.Context) {
	entity := a.entity()
	a.try(ctx, []Operation{{Kind: Gate, Key: a.key(), Entity: entity}}, func(ctx context.Context, c *client.Client, _ client.CallOption) ([]Operation, error) {
		_, err := c.CheckPromotion(ctx, entity, client.NoRetry())
		return []Operation{{Kind: Gate, Key: a.key(), Entity: entity, Outcome: OK}}, err
	})
	op := Operation{Kind: Promote, Key: a.key(), Entity: entity}
	a.one(ctx, op, func(ctx context.Context, c *client.Client, key client.CallOption, o *Operation) error {
		done, err := c.Promote(ctx, recoup.Promotion{EntityID: entity, Phase: op.Key}, key, client.NoRetry())
		o.ID, o.Seq = done.ID, done.Seq
		return err
	})
}

// verbs are what operators do.
var verbs = []recoup.ActName{recoup.ActPark, recoup.ActUnpark, recoup.ActResolve, recoup.ActUnpark}

// operate does something with an error, whether it is the time for it or not.
func (a *actor) operate(ctx context.Context) {
	verb := verbs[a.random.IntN(len(verbs))]
	for _, id := range a.some(1) {
		op := Operation{Kind: Kind(verb), Key: a.key(), ID: id}
		a.one(ctx, op, func(ctx context.Context, c *client.Client, key client.CallOption, _ *Operation) error {
			_, err := c.Errors.Act(ctx, verb, id, recoup.Act{Reason: op.Key}, key, client.NoRetry())
			return err
		})
	}
}

// operateMany does something with several errors in one call, which takes no key and
// is therefore not repeated.
func (a *actor) operateMany(ctx context.Context) {
	verb, key := verbs[a.random.IntN(len(verbs))], a.key()
	var parts []Operation
	ids := a.some(4)
	for _, id := range ids {
		parts = append(parts, Operation{Kind: Kind(verb), Key: key, ID: id})
	}
	if len(parts) == 0 {
		return
	}
	a.try(ctx, parts, func(ctx context.Context, c *client.Client, _ client.CallOption) ([]Operation, error) {
		result, err := c.Errors.ActOnIDs(ctx, verb, recoup.BulkAct{Act: recoup.Act{Reason: key}, IDs: ids}, client.NoRetry())
		done := slices.Clone(parts)
		for i := range done {
			done[i].Outcome = OK
			if slices.ContainsFunc(result.Refused, func(r recoup.Refused) bool { return r.ID == done[i].ID }) {
				done[i].Outcome = Refused
			}
		}
		return done, err
	})
}
