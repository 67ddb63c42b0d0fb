package client

import (
	"context"
	"errors"
	"sync"

	"github.com/recoup-dev/recoup"
)

// resultSender sends the results of many goroutines, in batches of what has gathered
// while the last request was under way.
type resultSender struct {
	client *Client
	queue  chan pendingResult
	done   sync.WaitGroup
}

// pendingResult is one result on its way.
type pendingResult struct {
	result recoup.RetryResult
	answer chan error // has room for one, so that the sender never blocks
}

// newResultSender starts one that works until ctx ends. It has two requests under
// way at most, so that one that hangs does not cost every lease.
func newResultSender(ctx context.Context, c *Client) *resultSender {
	k := &resultSender{client: c, queue: make(chan pendingResult)}
	for range 2 {
		k.done.Go(func() { k.run(ctx) })
	}
	return k
}

// decision is the server's refusal of one result, as opposed to the failure of the
// whole request.
type decision struct{ error }

func (d decision) Unwrap() error { return d.error }

// decided reports whether the server has refused a result for good.
func decided(err error) bool {
	_, ok := errors.AsType[decision](err)
	return ok
}

// send hands in a result and waits for what the server says of it.
func (k *resultSender) send(ctx context.Context, r recoup.RetryResult) error {
	l := pendingResult{r, make(chan error, 1)}
	select {
	case k.queue <- l:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-l.answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *resultSender) run(ctx context.Context) {
	for {
		select {
		case l := <-k.queue:
			k.deliver(ctx, k.gather(l))
		case <-ctx.Done():
			return
		}
	}
}

// gather takes what else waits to be sent.
func (k *resultSender) gather(first pendingResult) []pendingResult {
	pending := []pendingResult{first}
	for len(pending) < maxResults {
		select {
		case l := <-k.queue:
			pending = append(pending, l)
		default:
			return pending
		}
	}
	return pending
}

// deliver sends what is pending in one request and answers each.
func (k *resultSender) deliver(ctx context.Context, pending []pendingResult) {
	results := make([]recoup.RetryResult, len(pending))
	for i, l := range pending {
		results[i] = l.result
	}
	items, err := k.client.Retries.Results(ctx, results, NoRetry(), Brief())
	for i, l := range pending {
		if err != nil {
			l.answer <- err
			continue
		}
		_, refusal := items[i].Get()
		if refusal != nil && !k.client.o.Registry.Classify(refusal).Retryable(recoup.ConditionIdempotencyKey) {
			refusal = decision{refusal}
		}
		l.answer <- refusal
	}
}
