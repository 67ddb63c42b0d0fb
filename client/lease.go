package client

import (
	"context"
	"net/http"
	"time"

	"recoup"
)

// The outcomes of a [Result].
const (
	Succeeded = "succeed"
	Failed    = "fail"
	Extended  = "extend"
)

// Claim leases errors that are due to be retried, and waits for some if it is
// asked to. It may come back empty. If its answer is lost, what it leased falls
// due again when the leases end. [Worker] does all of this by itself.
func (c *Client) Claim(ctx context.Context, claim recoup.RetryClaim, options ...CallOption) ([]recoup.Error, error) {
	r := request{
		method: http.MethodPost, path: "/v1/retries/claim", body: claim,
		wait: time.Duration(claim.WaitSeconds) * time.Second,
	}
	answer, err := call[Claimed](ctx, c, r, options)
	return answer.Errors, err
}

// Succeed tells that the retry of r.ErrorID worked. Like the other results it
// may be sent again: the lease's token tells that it is the same.
func (c *Client) Succeed(ctx context.Context, r Result, options ...CallOption) (Acted, error) {
	return c.result(ctx, Succeeded, r, options)
}

// Fail tells that the retry of r.ErrorID failed, and how.
func (c *Client) Fail(ctx context.Context, r Result, options ...CallOption) (Acted, error) {
	return c.result(ctx, Failed, r, options)
}

// Extend prolongs the lease of r.ErrorID, from now on.
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

// Brief leaves the errors out of the answer to [Client.Results]: whoever only wants to
// know whether each was taken spares the server reading them.
func Brief() CallOption {
	return func(r *request) { r.header = http.Header{"Prefer": {"return=minimal"}} }
}

// Results tells the results of many attempts, at most 1000. Each is answered for
// itself, in their order; see [Item.Get].
func (c *Client) Results(ctx context.Context, results []Result, options ...CallOption) ([]Item[Acted], error) {
	r := request{method: http.MethodPost, path: "/v1/retries/results", body: ResultBatch{Results: results}}
	answer, err := call[ActedBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(results))
}
