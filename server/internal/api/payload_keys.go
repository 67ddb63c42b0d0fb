package api

import (
	"context"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// PayloadKeys are the keys that encrypt payloads and the outputs of stages.
type PayloadKeys interface {
	PayloadKeys(ctx context.Context) ([]client.PayloadKey, error)
	RotatePayloadKey(ctx context.Context, act store.Act) (client.PayloadKey, error)
	WrapKeys(ctx context.Context, act store.Act) (client.KeysWrapped, error)
}

func (a *API) listPayloadKeys(c *httpapi.Call, _ *struct{}) (client.PayloadKeyList, error) {
	keys, err := a.Registrar.PayloadKeys(c.Context())
	return client.PayloadKeyList{Keys: keys}, err
}

func (a *API) rotatePayloadKey(c *httpapi.Call, in *whyIn) (client.PayloadKey, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.PayloadKey{}, err
	}
	return a.Registrar.RotatePayloadKey(c.Context(), c.Act(in.Body.Reason))
}

func (a *API) wrapKeys(c *httpapi.Call, in *whyIn) (client.KeysWrapped, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.KeysWrapped{}, err
	}
	return a.Registrar.WrapKeys(c.Context(), c.Act(in.Body.Reason))
}
