package admin

import (
	"context"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// AdoptedTables reads adopted tables, which Recoup governs where they are.
type AdoptedTables struct{ c *client.Client }

// List lists the adopted tables, and how far nodes are with them.
func (s AdoptedTables) List(ctx context.Context, options ...client.CallOption) (wire.Adoptions, error) {
	return Get[wire.Adoptions](ctx, s.c, "/v1/adoptions", nil, options)
}
