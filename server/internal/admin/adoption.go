package admin

import (
	"context"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Adoption reads adopted tables, which Recoup governs where they are.
type Adoption struct{ c *client.Client }

// List lists the adopted tables, and how far nodes are with them.
func (s Adoption) List(ctx context.Context, options ...client.CallOption) (wire.Adoptions, error) {
	return Get[wire.Adoptions](ctx, s.c, "/v1/adoptions", nil, options)
}
