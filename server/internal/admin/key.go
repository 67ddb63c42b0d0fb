package admin

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Keys makes, lists, rotates and revokes API keys.
type Keys struct{ c *client.Client }

// Create creates a key. Its Secret is returned here and never again, so the call
// is not retried where it may have taken effect: that would leave a key whose secret
// is lost.
func (s Keys) Create(ctx context.Context, k wire.NewKey, options ...client.CallOption) (wire.Key, error) {
	return Call[wire.Key](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/keys", Body: k, Safety: client.NotIdempotent}, options)
}

// List lists keys, newest first.
func (s Keys) List(ctx context.Context, p client.Page, options ...client.CallOption) (wire.KeyPage, error) {
	return Get[wire.KeyPage](ctx, s.c, "/v1/keys", pageQuery(p, query.Values{}), options)
}

// Current returns the key that the client calls with. A server without keys answers with the
// administrator that every caller is there.
func (s Keys) Current(ctx context.Context, options ...client.CallOption) (wire.Key, error) {
	return Get[wire.Key](ctx, s.c, "/v1/keys/self", nil, options)
}

// Revoke revokes a key. Revoking it again changes nothing.
func (s Keys) Revoke(ctx context.Context, id recoup.ID, why string, options ...client.CallOption) (wire.Key, error) {
	return Call[wire.Key](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/keys/" + id.String() + "/revoke", Body: wire.Reason{Reason: why}, Safety: client.Idempotent}, options)
}

// Rotate replaces a key by a new one, which it returns; the old one works a while
// longer. Like [Keys.Create] it is not retried where it may have taken effect.
func (s Keys) Rotate(ctx context.Context, id recoup.ID, k wire.KeyRotation, options ...client.CallOption) (wire.Key, error) {
	return Call[wire.Key](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/keys/" + id.String() + "/rotate", Body: k, Safety: client.NotIdempotent}, options)
}
