package api

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// PayloadKeys are the keys that encrypt payloads and the outputs of stages.
type PayloadKeys interface {
	PayloadKeys(ctx context.Context) ([]wire.PayloadKey, error)
	RotatePayloadKey(ctx context.Context, act store.Act) (wire.PayloadKey, error)
	WrapKeys(ctx context.Context, act store.Act) (wire.KeysWrapped, error)
}

func (a *API) listPayloadKeys(c *httpapi.Call, _ *struct{}) (wire.PayloadKeyList, error) {
	keys, err := a.Registrar.PayloadKeys(c.Context())
	return wire.PayloadKeyList{Keys: keys}, err
}

func (a *API) rotatePayloadKey(c *httpapi.Call, in *whyIn) (wire.PayloadKey, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.PayloadKey{}, err
	}
	return a.Registrar.RotatePayloadKey(c.Context(), c.Act(in.Body.Reason))
}

func (a *API) wrapKeys(c *httpapi.Call, in *whyIn) (wire.KeysWrapped, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.KeysWrapped{}, err
	}
	return a.Registrar.WrapKeys(c.Context(), c.Act(in.Body.Reason))
}
