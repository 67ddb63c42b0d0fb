package api

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

type claimIn struct{ Body recoup.RetryClaim }

func (a *API) claim(c *httpapi.Call, in *claimIn) (recoup.RetryClaimed, error) {
	claimed, err := httpapi.Poll(c, func(ctx context.Context) ([]recoup.Error, error) {
		return a.Engine.Claim(ctx, c.Caller, in.Body)
	})
	if claimed == nil {
		claimed = []recoup.Error{}
	}
	return recoup.RetryClaimed{Errors: claimed}, err
}

type resultIn struct {
	httpapi.IDParam
	Body recoup.RetryResult
}

func (a *API) succeed(c *httpapi.Call, in *resultIn) (recoup.ActResult, error) {
	return a.result(c, in, "succeed")
}
func (a *API) fail(c *httpapi.Call, in *resultIn) (recoup.ActResult, error) {
	return a.result(c, in, "fail")
}
func (a *API) extend(c *httpapi.Call, in *resultIn) (recoup.ActResult, error) {
	return a.result(c, in, "extend")
}

func (a *API) result(c *httpapi.Call, in *resultIn, outcome string) (recoup.ActResult, error) {
	r := in.Body
	r.ErrorID, r.Outcome = in.ID, outcome
	act, err := a.resultOf(c, r, 0)
	if err != nil {
		return recoup.ActResult{}, err
	}
	out, err := a.Engine.One(c.Context(), c.Caller, act)
	return keepToken(acted(out), r), err
}

// keepToken leaves a worker the token that it has sent.
func keepToken(a recoup.ActResult, r recoup.RetryResult) recoup.ActResult {
	if r.Outcome == "extend" {
		a.Error.LeaseToken = r.LeaseToken
	}
	return a
}

// checkResult says what is wrong with the result of an attempt.
func checkResult(outcome string) func(*API, *httpapi.Call, *resultIn) error {
	return func(a *API, _ *httpapi.Call, in *resultIn) error {
		r := in.Body
		r.ErrorID, r.Outcome = in.ID, outcome
		_, err := a.inputOf(r)
		return err
	}
}

// resultOf turns the i-th result of a request into an act.
func (a *API) resultOf(c *httpapi.Call, r recoup.RetryResult, i int) (engine.Act, error) {
	receipt, err := c.Receipt(i)
	if err != nil {
		return engine.Act{}, err
	}
	input, err := a.inputOf(r)
	return engine.Act{ID: r.ErrorID, Receipt: receipt, Input: input}, err
}

// inputOf is what a result means for its error, or all that is wrong with it.
func (a *API) inputOf(r recoup.RetryResult) (input lifecycle.Input, err error) {
	var bad check.Fields
	lease.CheckToken(&bad, !r.LeaseToken.IsZero())
	switch r.Outcome {
	case "succeed":
		input = lifecycle.Succeed{Token: r.LeaseToken, Reason: r.Reason}
	case "extend":
		input = lifecycle.Extend{Token: r.LeaseToken, Lease: lease.Seconds(r.LeaseSeconds)}
	case "fail":
		failure, err := a.Engine.Failure(r.Code, r.Proven, lease.Seconds(r.RetryAfter))
		bad.Merge(err)
		input = lifecycle.Fail{Token: r.LeaseToken, Failure: failure, Reason: r.Reason}
	default:
		bad.Addf("outcome", "enum", "outcome must be succeed, fail or extend")
	}
	if input != nil {
		bad.Merge(a.Engine.CheckInput(input))
	}
	return input, bad.Err()
}

type resultsIn struct {
	Prefer string `header:"Prefer" doc:"return=minimal: of results that were taken, the errors are left out of the answer, which is cheaper"`
	Body   recoup.RetryResultBatch
}

// resultRules are the rules of one result among many.
var resultRules = httpapi.RulesOf[recoup.RetryResult]()

func (a *API) results(c *httpapi.Call, in *resultsIn) (recoup.ActResultBatch, error) {
	results, brief, taken := in.Body.Results, c.Prefers("return=minimal"), &recoup.ActResult{}
	items, err := answerItems(c, len(results), func(i int) (engine.Act, error) {
		if err := httpapi.CheckItem(resultRules, &results[i], a.checkRetryResult); err != nil {
			return engine.Act{}, err
		}
		act, err := a.resultOf(c, results[i], i)
		act.Brief = brief
		return act, err
	}, func(ctx context.Context, acts []engine.Act) ([]store.Outcome, error) {
		return a.Engine.Apply(ctx, c.Caller, acts)
	}, func(i int, o *store.Outcome) (*recoup.ActResult, error) {
		warning := string(o.Effects.Warning)
		switch {
		case o.Err != nil:
			return nil, o.Err
		case !brief:
			done := keepToken(acted(*o), results[i])
			return &done, nil
		case warning != "" || o.Repeated:
			return &recoup.ActResult{Warning: warning, Repeated: o.Repeated}, nil
		}
		return taken, nil
	})
	return recoup.ActResultBatch{Items: items}, err
}
