package api

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TenantKeys are the keys that tenants are hashed with.
type TenantKeys interface {
	TenantKeys(ctx context.Context) ([]wire.TenantKey, error)
	RotateTenantKey(ctx context.Context, act store.Act) (wire.TenantKey, error)
	DeleteTenantKey(ctx context.Context, id string, act store.Act) error
}

func (a *API) listTenantKeys(c *httpapi.Call, _ *struct{}) (wire.TenantKeyList, error) {
	keys, err := a.Registrar.TenantKeys(c.Context())
	return wire.TenantKeyList{Keys: keys}, err
}

type whyIn struct {
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
	}
}

func (a *API) rotateTenantKey(c *httpapi.Call, in *whyIn) (wire.TenantKey, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.TenantKey{}, err
	}
	return a.Registrar.RotateTenantKey(c.Context(), c.Act(in.Body.Reason))
}

type tenantKeyIn struct {
	KeyID string `path:"key_id" maxLength:"64" doc:"the key's name, as the list has it"`
	Body  struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
	}
}

func (a *API) deleteTenantKey(c *httpapi.Call, in *tenantKeyIn) (wire.TenantKeyList, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.TenantKeyList{}, err
	}
	if err := a.Registrar.DeleteTenantKey(c.Context(), in.KeyID, c.Act(in.Body.Reason)); err != nil {
		return wire.TenantKeyList{}, err
	}
	return a.listTenantKeys(c, nil)
}
