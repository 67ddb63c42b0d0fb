package admin

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// PayloadKeys handles the keys that encrypt payloads.
type PayloadKeys struct{ c *client.Client }

// List lists the live payload keys, newest first.
func (s PayloadKeys) List(ctx context.Context, options ...client.CallOption) (wire.PayloadKeyList, error) {
	return Get[wire.PayloadKeyList](ctx, s.c, "/v1/payload-keys", nil, options)
}

// Rotate makes the key that encrypts from now on; the others stay and decrypt
// what they encrypted.
func (s PayloadKeys) Rotate(ctx context.Context, why string, options ...client.CallOption) (wire.PayloadKey, error) {
	return Call[wire.PayloadKey](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/payload-keys/rotate", Body: wire.Reason{Reason: why}, Safety: client.NotIdempotent}, options)
}

// Wrap encrypts the plaintext keys of payloads and tenants in the database with the
// server's master key.
func (s PayloadKeys) Wrap(ctx context.Context, why string, options ...client.CallOption) (wire.KeysWrapped, error) {
	return Call[wire.KeysWrapped](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/payload-keys/wrap", Body: wire.Reason{Reason: why}, Safety: client.Idempotent}, options)
}
