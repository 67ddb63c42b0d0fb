package client

import (
	"context"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
)

// Claim leases errors that are due to be retried; with WaitSeconds it is a long poll.
// It may return none. If its answer is lost, what it leased is due again when the
// leases expire. [Worker] does all of this by itself.
func (s RetryService) Claim(ctx context.Context, claim recoup.RetryClaim, options ...CallOption) ([]recoup.Error, error) {
	r := Request{
		Method: http.MethodPost, Path: "/v1/retries/claim", Body: claim,
		Wait:   time.Duration(claim.WaitSeconds) * time.Second,
		Safety: Idempotent,
	}
	answer, err := call[recoup.RetryClaimed](ctx, s.c, r, options)
	return answer.Errors, err
}

// Succeed reports that the retry of r.ErrorID succeeded. Like the other results it may
// be sent again: the server recognises it by the lease token.
func (s RetryService) Succeed(ctx context.Context, r recoup.RetryResult, options ...CallOption) (recoup.ActResult, error) {
	return s.result(ctx, recoup.OutcomeSucceeded, r, options)
}

// Fail reports that the retry of r.ErrorID failed, and how.
func (s RetryService) Fail(ctx context.Context, r recoup.RetryResult, options ...CallOption) (recoup.ActResult, error) {
	return s.result(ctx, recoup.OutcomeFailed, r, options)
}

// Extend extends the lease of r.ErrorID, counted from now.
func (s RetryService) Extend(ctx context.Context, r recoup.RetryResult, options ...CallOption) (recoup.ActResult, error) {
	return s.result(ctx, recoup.OutcomeExtended, r, options)
}

func (s RetryService) result(ctx context.Context, outcome string, r recoup.RetryResult, options []CallOption) (recoup.ActResult, error) {
	path := "/v1/retries/" + r.ErrorID.String() + "/" + outcome
	r.ErrorID, r.Outcome = recoup.ID{}, ""
	return call[recoup.ActResult](ctx, s.c, Request{Method: http.MethodPost, Path: path, Body: r, Safety: Idempotent}, options)
}

// maxResults is how many results one request may hold.
const maxResults = 1000

// Brief leaves the errors out of the answer to [RetryService.Results], for callers that only
// need to know whether each result was accepted. It saves the server reading them.
func Brief() CallOption {
	return func(r *invocation) { r.Header = http.Header{"Prefer": {"return=minimal"}} }
}

// Results submits the results of many attempts, at most 1000. Each succeeds or fails
// on its own; answers are in the order of the results. See [Item.Get].
func (s RetryService) Results(ctx context.Context, results []recoup.RetryResult, options ...CallOption) ([]Item[recoup.ActResult], error) {
	r := Request{Method: http.MethodPost, Path: "/v1/retries/results", Body: recoup.RetryResultBatch{Results: results}, Safety: Idempotent}
	answer, err := call[recoup.ActResultBatch](ctx, s.c, r, options)
	if err != nil {
		return nil, err
	}
	return itemsOf(answer.Items, len(results))
}
