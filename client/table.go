package client

import (
	"context"

	"github.com/recoup-dev/recoup"
)

// Tables is the answer about the policy's error tables.
type Tables struct {
	Tables []recoup.ErrorTable `json:"tables" doc:"those that the caller may see, in the policy's order"`
}

// Tables lists the error tables of the policy, and what has their names in the database.
func (c *Client) Tables(ctx context.Context, options ...CallOption) ([]recoup.ErrorTable, error) {
	answer, err := get[Tables](ctx, c, "/v1/tables", nil, options)
	return answer.Tables, err
}
