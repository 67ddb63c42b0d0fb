package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// TenantKey is a key that tenants are hashed with in the ledger, without its
// secret.
type TenantKey struct {
	ID        string    `json:"key_id" doc:"names the key"`
	CreatedAt time.Time `json:"created_at" doc:"since when it is used"`
	Current   bool      `json:"current" doc:"it hashes what is new; the others only find what they hashed"`
}

// TenantKeyList lists tenant keys.
type TenantKeyList struct {
	Keys []TenantKey `json:"keys" doc:"all of them"`
}

// TenantKeys lists the live tenant keys, newest first.
func (c *Client) TenantKeys(ctx context.Context, options ...CallOption) (TenantKeyList, error) {
	return get[TenantKeyList](ctx, c, "/v1/tenant-keys", nil, options)
}

// RotateTenantKey creates the key that hashes tenants from now on; the others are kept
// to find what they hashed.
func (c *Client) RotateTenantKey(ctx context.Context, why string, options ...CallOption) (TenantKey, error) {
	return call[TenantKey](ctx, c, request{method: http.MethodPost, path: "/v1/tenant-keys/rotate", body: reason{why}, safety: once}, options)
}

// DeleteTenantKey deletes a key that is not in use. What it hashed can never be
// found by its tenant again.
func (c *Client) DeleteTenantKey(ctx context.Context, id, why string, options ...CallOption) (TenantKeyList, error) {
	return call[TenantKeyList](ctx, c, request{method: http.MethodPost, path: "/v1/tenant-keys/" + url.PathEscape(id) + "/delete", body: reason{why}}, options)
}
