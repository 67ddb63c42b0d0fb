package api

import (
	"errors"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (a *API) listKeys(c *httpapi.Call, in *httpapi.Page) (wire.KeyPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return wire.KeyPage{}, err
	}
	keys, cursor, err := a.Store.Keys(c.Context(), at)
	return wire.KeyPage{Keys: httpapi.Listed(keys), Next: httpapi.NextCursor(cursor)}, err
}

// showSelf shows the caller its own key. Where no keys are needed it is an administrator's.
func (a *API) showSelf(c *httpapi.Call, _ *struct{}) (wire.Key, error) {
	if c.Key == nil {
		return wire.Key{Name: a.Open, Role: string(httpapi.RoleAdmin)}, nil
	}
	return *c.Key, nil
}

type newKeyIn struct{ Body wire.NewKey }

func (a *API) createKey(c *httpapi.Call, in *newKeyIn) (wire.Key, error) {
	return a.keyMaker().Create(c.Context(), in.Body, c.Act(in.Body.Reason))
}

func (a *API) keyMaker() KeyMaker {
	return KeyMaker{Store: a.Store, IDs: a.IDs, Random: a.Random, Hub: a.hub}
}

func (a *API) checkKey(_ *httpapi.Call, in *newKeyIn) error { return a.keyMaker().check(&in.Body) }

type reasonIn struct {
	httpapi.IDParam
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
	}
}

func (a *API) revokeKey(c *httpapi.Call, in *reasonIn) (wire.Key, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.Key{}, err
	}
	key, err := a.Store.RevokeKey(c.Context(), in.ID, c.Act(in.Body.Reason))
	a.ForgetKeys()
	return key, err
}

type rotateIn struct {
	httpapi.IDParam
	Body wire.KeyRotation
}

func (a *API) rotateKey(c *httpapi.Call, in *rotateIn) (wire.Key, error) {
	key, err := a.keyMaker().Rotate(c.Context(), in.ID, in.Body, c.Act(in.Body.Reason))
	if errors.Is(err, store.ErrConflict) {
		return key, fault.Wrap(err, fault.CodeConflict, "The key is revoked, or another took over from it before.")
	}
	if err == nil {
		a.ForgetKeys()
	}
	return key, err
}
