package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TenantKeys handles the keys that hash tenants in the ledger.
type TenantKeys struct{ c *client.Client }

// List lists the live tenant keys, newest first.
func (s TenantKeys) List(ctx context.Context, options ...client.CallOption) (wire.TenantKeyList, error) {
	return Get[wire.TenantKeyList](ctx, s.c, "/v1/tenant-keys", nil, options)
}

// Rotate creates the key that hashes tenants from now on; the others are kept
// to find what they hashed.
func (s TenantKeys) Rotate(ctx context.Context, why string, options ...client.CallOption) (wire.TenantKey, error) {
	return Call[wire.TenantKey](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/tenant-keys/rotate", Body: wire.Reason{Reason: why}, Safety: client.NotIdempotent}, options)
}

// Delete deletes a key that is not in use. What it hashed can never be
// found by its tenant again.
func (s TenantKeys) Delete(ctx context.Context, id, why string, options ...client.CallOption) (wire.TenantKeyList, error) {
	return Call[wire.TenantKeyList](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/tenant-keys/" + url.PathEscape(id) + "/delete", Body: wire.Reason{Reason: why}, Safety: client.Idempotent}, options)
}
