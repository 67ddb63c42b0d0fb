package api

import (
	"errors"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func (a *API) listKeys(c *call, in *page) (client.KeyPage, error) {
	at, err := in.read()
	if err != nil {
		return client.KeyPage{}, err
	}
	keys, cursor, err := a.Store.Keys(c.Context(), at)
	return client.KeyPage{Keys: listed(keys), Next: next(cursor)}, err
}

// showSelf shows the caller its own key. Where no keys are needed it is an administrator's.
func (a *API) showSelf(c *call, _ *struct{}) (recoup.Key, error) {
	if c.key == nil {
		return recoup.Key{Name: a.Open, Role: string(Admin)}, nil
	}
	return *c.key, nil
}

type newKeyIn struct{ Body client.NewKey }

func (a *API) createKey(c *call, in *newKeyIn) (recoup.Key, error) {
	return a.keyMaker().Create(c.Context(), in.Body, c.act(in.Body.Reason))
}

func (a *API) keyMaker() KeyMaker {
	return KeyMaker{Store: a.Store, IDs: a.IDs, Random: a.Random, Hub: a.hub}
}

func (a *API) checkKey(_ *call, in *newKeyIn) error { return a.keyMaker().check(&in.Body) }

type reasonIn struct {
	idIn
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
	}
}

func (a *API) revokeKey(c *call, in *reasonIn) (recoup.Key, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.Key{}, err
	}
	key, err := a.Store.RevokeKey(c.Context(), in.ID, c.act(in.Body.Reason))
	a.forgetKeys()
	return key, err
}

type rotateIn struct {
	idIn
	Body client.KeyRotation
}

func (a *API) rotateKey(c *call, in *rotateIn) (recoup.Key, error) {
	key, err := a.keyMaker().Rotate(c.Context(), in.ID, in.Body, c.act(in.Body.Reason))
	if errors.Is(err, store.ErrConflict) {
		return key, fault.Wrap(err, fault.CodeConflict, "The key is revoked, or another took over from it before.")
	}
	if err == nil {
		a.forgetKeys()
	}
	return key, err
}
