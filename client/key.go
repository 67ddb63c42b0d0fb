package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// CreateKey creates a key. Its Secret is returned here and never again, so the call
// is not retried where it may have taken effect: that would leave a key that nobody
// knows.
func (c *Client) CreateKey(ctx context.Context, k NewKey, options ...CallOption) (recoup.Key, error) {
	return call[recoup.Key](ctx, c, request{method: http.MethodPost, path: "/v1/keys", body: k, safety: once}, options)
}

// Keys lists keys, newest first.
func (c *Client) Keys(ctx context.Context, p Page, options ...CallOption) (KeyPage, error) {
	return get[KeyPage](ctx, c, "/v1/keys", p.query(query{}), options)
}

// Self returns the key that the client calls with. A server without keys answers with the
// administrator that everybody is there.
func (c *Client) Self(ctx context.Context, options ...CallOption) (recoup.Key, error) {
	return get[recoup.Key](ctx, c, "/v1/keys/self", nil, options)
}

// RevokeKey revokes a key. Revoking it again changes nothing.
func (c *Client) RevokeKey(ctx context.Context, id recoup.ID, why string, options ...CallOption) (recoup.Key, error) {
	return call[recoup.Key](ctx, c, request{method: http.MethodPost, path: "/v1/keys/" + id.String() + "/revoke", body: reason{why}}, options)
}

// RotateKey replaces a key by a new one, which it returns; the old one works a while
// longer. Like [Client.CreateKey] it is not retried where it may have taken effect.
func (c *Client) RotateKey(ctx context.Context, id recoup.ID, k KeyRotation, options ...CallOption) (recoup.Key, error) {
	return call[recoup.Key](ctx, c, request{method: http.MethodPost, path: "/v1/keys/" + id.String() + "/rotate", body: k, safety: once}, options)
}
