package api

import (
	"context"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// PayloadKeys are the keys that encrypt payloads and the outputs of stages.
type PayloadKeys interface {
	PayloadKeys(ctx context.Context) ([]client.PayloadKey, error)
	RotatePayloadKey(ctx context.Context, act store.Act) (client.PayloadKey, error)
	WrapKeys(ctx context.Context, act store.Act) (client.KeysWrapped, error)
}

func (a *API) listPayloadKeys(c *call, _ *struct{}) (client.PayloadKeyList, error) {
	keys, err := a.Registrar.PayloadKeys(c.Context())
	return client.PayloadKeyList{Keys: keys}, err
}

func (a *API) rotatePayloadKey(c *call, in *whyIn) (client.PayloadKey, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.PayloadKey{}, err
	}
	return a.Registrar.RotatePayloadKey(c.Context(), c.act(in.Body.Reason))
}

func (a *API) wrapKeys(c *call, in *whyIn) (client.KeysWrapped, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.KeysWrapped{}, err
	}
	return a.Registrar.WrapKeys(c.Context(), c.act(in.Body.Reason))
}
