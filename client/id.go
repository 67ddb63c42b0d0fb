package client

import (
	"context"
	"net/url"

	"github.com/recoup-dev/recoup"
)

// FoundIDs is what a part of an id may mean, the newest first.
type FoundIDs struct {
	IDs  []recoup.FoundID `json:"ids" doc:"what it may mean, newest first"`
	More bool             `json:"more,omitempty" doc:"there are more than are listed"`
}

// FindIDs returns the things of a kind whose id begins or ends with a part of six
// hexadecimal digits or more.
func (c *Client) FindIDs(ctx context.Context, kind recoup.IDKind, part string, options ...CallOption) (FoundIDs, error) {
	return get[FoundIDs](ctx, c, "/v1/ids/"+url.PathEscape(part), query{}.text("kind", string(kind)).values(), options)
}
