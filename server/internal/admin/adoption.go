package admin

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Adoption reads adopted tables, which Recoup governs where they are.
type Adoption struct{ c *client.Client }

// List lists the adopted tables, and how far nodes are with them.
func (s Adoption) List(ctx context.Context, options ...client.CallOption) (wire.Adoptions, error) {
	return get[wire.Adoptions](ctx, s.c, "/v1/adoptions", nil, options)
}

// DecryptSource returns what of that is encrypted. It needs an administrator's key, and
// the read is audited.
func (s Adoption) DecryptSource(ctx context.Context, id recoup.ID, reason string, options ...client.CallOption) (wire.DecryptedSource, error) {
	r := client.Request{Method: http.MethodPost, Path: "/v1/errors/" + id.String() + "/source/decrypt", Body: wire.SourceLook{Reason: reason}, Safety: client.Idempotent}
	return call[wire.DecryptedSource](ctx, s.c, r, options)
}
