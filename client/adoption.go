package client

import (
	"context"

	"recoup"
)

// Adoptions are the tables that are governed where they are.
type Adoptions struct {
	Adoptions []recoup.Adoption `json:"adoptions" doc:"the tables, in the order in which they were adopted; none on the embedded store"`
}

// Adoptions lists the adopted tables, and how far nodes are with them.
func (c *Client) Adoptions(ctx context.Context, options ...CallOption) (Adoptions, error) {
	return get[Adoptions](ctx, c, "/v1/adoptions", nil, options)
}
