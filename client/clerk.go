package client

import (
	"context"
	"errors"
	"sync"

	"recoup"
)

// clerk sends the results of many goroutines, as many at once as have gathered
// while it was busy.
type clerk struct {
	client *Client
	inbox  chan letter
	done   sync.WaitGroup
}

// letter is one result on its way.
type letter struct {
	result Result
	answer chan error // has room for one, so that the clerk never waits
}

// newClerk starts a clerk that works until ctx ends. It has two requests under
// way at most, so that one that hangs does not cost every lease.
func newClerk(ctx context.Context, c *Client) *clerk {
	k := &clerk{client: c, inbox: make(chan letter)}
	for range 2 {
		k.done.Go(func() { k.run(ctx) })
	}
	return k
}

// decision is the server's final word on one result, as opposed to a request
// that came to nothing.
type decision struct{ error }

func (d decision) Unwrap() error { return d.error }

// decided reports whether the server has refused a result for good.
func decided(err error) bool {
	_, ok := errors.AsType[decision](err)
	return ok
}

// send hands in a result and waits for what the server says of it.
func (k *clerk) send(ctx context.Context, r Result) error {
	l := letter{r, make(chan error, 1)}
	select {
	case k.inbox <- l:
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

func (k *clerk) run(ctx context.Context) {
	for {
		select {
		case l := <-k.inbox:
			k.deliver(ctx, k.gather(l))
		case <-ctx.Done():
			return
		}
	}
}

// gather takes what else waits to be sent.
func (k *clerk) gather(first letter) []letter {
	letters := []letter{first}
	for len(letters) < maxResults {
		select {
		case l := <-k.inbox:
			letters = append(letters, l)
		default:
			return letters
		}
	}
	return letters
}

// deliver makes one request of letters and answers each.
func (k *clerk) deliver(ctx context.Context, letters []letter) {
	results := make([]Result, len(letters))
	for i, l := range letters {
		results[i] = l.result
	}
	items, err := k.client.Results(ctx, results, NoRetry(), Brief())
	for i, l := range letters {
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
