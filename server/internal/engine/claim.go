package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Claim leases due errors to a worker. With nothing due it waits, for as long as
// the claim says, and may come back empty.
func (e *Engine) Claim(ctx context.Context, c Caller, claim recoup.RetryClaim) ([]recoup.Error, error) {
	tables, err := e.CheckClaim(c, claim)
	if err != nil {
		return nil, err
	}
	e.Heartbeats.Claims(claim.Worker, tables...)
	return e.await(ctx, claim, tables)
}

// CheckClaim says what is wrong with a claim, all of it, and returns the tables that it
// is of.
func (e *Engine) CheckClaim(c Caller, claim recoup.RetryClaim) ([]string, error) {
	f := check.Fields{Redactor: e.Redactor}
	lease.CheckClaim(&f, claim.Worker, claim.Limit, claim.LeaseSeconds, claim.WaitSeconds)
	tables, err := e.claimable(c, claim.Tables, &f)
	if err != nil {
		return nil, err
	}
	return tables, f.Err()
}

// claimable returns the names of the tables to claim from.
func (e *Engine) claimable(c Caller, names []string, f *check.Fields) ([]string, error) {
	if len(names) == 0 {
		for _, t := range e.Policies.Tables() {
			if c.MayTouch(t) && !t.DeadLetter {
				names = append(names, t.Name)
			}
		}
		return names, nil
	}
	for _, name := range names {
		f.RequiredIdentifier("tables", name)
		t, ok := e.Policies.Table(name)
		switch {
		case !ok:
			f.Addf("tables", "known", "the policy has no table of one of the names")
		case t.DeadLetter:
			f.Addf("tables", "no_dead_letters", "dead letters are claimed at /v1/work/claim, once they are replayed")
		case !c.MayTouch(t):
			return nil, ErrForbidden
		}
	}
	return names, nil
}

// await claims, and while there is nothing waits to be woken or for the clock.
func (e *Engine) await(ctx context.Context, claim recoup.RetryClaim, tables []string) (claimed []recoup.Error, err error) {
	if len(tables) == 0 {
		return nil, nil
	}
	err = e.Await(ctx, lease.Wait{
		For: strings.Join(slices.Sorted(slices.Values(tables)), " "), Wait: lease.Seconds(claim.WaitSeconds),
		Look: func() (bool, error) {
			var err error
			claimed, err = e.claim(ctx, claim, tables)
			return len(claimed) > 0, err
		},
	})
	return claimed, err
}

// claim claims what is due, all under one token: a lease is known by its error and
// its token. Where a worker before has let its lease run out, that is an event.
func (e *Engine) claim(ctx context.Context, claim recoup.RetryClaim, tables []string) ([]recoup.Error, error) {
	in := lifecycle.Claim{Token: e.IDs.New(e.Now()), Worker: claim.Worker, Lease: lease.Seconds(claim.LeaseSeconds)}
	return e.claimDue(ctx, store.Claim{
		Tables: tables, Limit: lease.Limit(claim.Limit), EventOf: e.leaseExpired,
		Like: claimLike{e, in.Lease}, Token: in.Token, Worker: claim.Worker,
		Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(e.Policies.Of(current), current, in, now)
		},
	})
}

// Lease leases errors that are due to a worker who knows which ones it wants, under one
// token. What is not due, or held by another, is left out.
func (e *Engine) Lease(ctx context.Context, worker, table string, ids []recoup.ID, lasts time.Duration) ([]recoup.Error, error) {
	e.Heartbeats.Claims(worker, table)
	in := lifecycle.Claim{Token: e.IDs.New(e.Now()), Worker: worker, Lease: lasts}
	steps := make([]store.Step, len(ids))
	for i, id := range ids {
		steps[i] = store.Step{
			ID: id, EventOf: e.leaseExpired,
			Decide: func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
				return lifecycle.Step(e.Policies.Of(current), current, in, now)
			},
		}
	}
	outcomes, err := e.applySteps(ctx, steps)
	var leased []recoup.Error
	for i := range outcomes {
		if outcomes[i].Err == nil && outcomes[i].Error.LeaseToken == in.Token {
			leased = append(leased, outcomes[i].Error)
		}
	}
	return leased, err
}

// claimLike is what claims have in common that are decided alike.
type claimLike struct {
	by    *Engine
	lease time.Duration
}

// announce wakes claims that wait if something was made due at once. What falls due
// later, those who wait find by the clock.
func (e *Engine) announce(outcomes []store.Outcome) {
	if slices.ContainsFunc(outcomes, func(o store.Outcome) bool {
		return o.Err == nil && !o.Repeated && o.Error.State == recoup.RetryPending && o.Error.LeaseToken.IsZero() && !o.Error.NextRetryAt.After(o.Error.UpdatedAt)
	}) {
		e.Wake()
	}
}
