package client

import (
	"context"

	"github.com/recoup-dev/recoup"
)

// Workers is the answer about who claims.
type Workers struct {
	Queues []recoup.WorkerQueue `json:"queues" doc:"every error table, and every lane in use"`
}

// Workers says of every error table, and of every lane of staged work that is in use,
// how much waits there for a worker, and how many workers claim.
func (c *Client) Workers(ctx context.Context, options ...CallOption) ([]recoup.WorkerQueue, error) {
	answer, err := get[Workers](ctx, c, "/v1/workers", nil, options)
	return answer.Queues, err
}
