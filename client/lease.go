package client

import (
	"context"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
)

// The outcomes of a [Result].
const (
	Succeeded = "succeed"
	Failed    = "fail"
	Extended  = "extend"
)

// Claim leases errors that are due to be retried; with WaitSeconds it is a long poll.
// It may return none. If its answer is lost, what it leased is due again when the
// leases expire. [Worker] does all of this by itself.
func (c *Client) Claim(ctx context.Context, claim recoup.RetryClaim, options ...CallOption) ([]recoup.Error, error) {
	r := request{
		method: http.MethodPost, path: "/v1/retries/claim", body: claim,
		wait: time.Duration(claim.WaitSeconds) * time.Second,
	}
	answer, err := call[Claimed](ctx, c, r, options)
	return answer.Errors, err
}

// Succeed reports that the retry of r.ErrorID succeeded. Like the other results it may
// be sent again: the server recognises it by the lease token.
func (c *Client) Succeed(ctx context.Context, r Result, options ...CallOption) (Acted, error) {
	return c.result(ctx, Succeeded, r, options)
}

// Fail reports that the retry of r.ErrorID failed, and how.
func (c *Client) Fail(ctx context.Context, r Result, options ...CallOption) (Acted, error) {
	return c.result(ctx, Failed, r, options)
}

// Extend extends the lease of r.ErrorID, counted from now.
func (c *Client) Extend(ctx context.Context, r Result, options ...CallOption) (Acted, error) {
	return c.result(ctx, Extended, r, options)
}

func (c *Client) result(ctx context.Context, outcome string, r Result, options []CallOption) (Acted, error) {
	path := "/v1/retries/" + r.ErrorID.String() + "/" + outcome
	r.ErrorID, r.Outcome = recoup.ID{}, ""
	return call[Acted](ctx, c, request{method: http.MethodPost, path: path, body: r}, options)
}

// maxResults is how many results one request may hold.
const maxResults = 1000

// Brief leaves the errors out of the answer to [Client.Results], for callers that only
// need to know whether each result was accepted. It saves the server reading them.
func Brief() CallOption {
	return func(r *request) { r.header = http.Header{"Prefer": {"return=minimal"}} }
}

// Results submits the results of many attempts, at most 1000. Each succeeds or fails
// on its own; answers are in the order of the results. See [Item.Get].
func (c *Client) Results(ctx context.Context, results []Result, options ...CallOption) ([]Item[Acted], error) {
	r := request{method: http.MethodPost, path: "/v1/retries/results", body: ResultBatch{Results: results}}
	answer, err := call[ActedBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(results))
}
