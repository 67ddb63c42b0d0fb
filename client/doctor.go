package client

import (
	"context"

	"github.com/recoup-dev/recoup"
)

// Doctor finds what is wrong with the installation. It needs a key with the role admin.
func (c *Client) Doctor(ctx context.Context, options ...CallOption) (recoup.Diagnosis, error) {
	return get[recoup.Diagnosis](ctx, c, "/v1/doctor", nil, options)
}
