package api

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// listAdoptions lists the adopted tables of the caller's hubs.
func (a *API) listAdoptions(c *httpapi.Call, _ *struct{}) (wire.Adoptions, error) {
	if a.Adoptions == nil {
		return wire.Adoptions{Adoptions: []wire.Adoption{}}, nil
	}
	list, err := a.Adoptions(c.Context())
	list = slices.DeleteFunc(list, func(o wire.Adoption) bool { return !a.mayTouch(c, o.Table) })
	return wire.Adoptions{Adoptions: httpapi.Listed(list)}, err
}

// Sources has what errors keep of their rows of adopted tables.
type Sources interface {
	Source(ctx context.Context, c engine.Caller, id recoup.ID) (recoup.ErrorSource, error)
	DecryptSource(ctx context.Context, c engine.Caller, id recoup.ID, reason string) (wire.DecryptedSource, error)
}

func (a *API) showSource(c *httpapi.Call, in *httpapi.IDParam) (recoup.ErrorSource, error) {
	if a.Sources == nil { // this store has no adopted tables, so that errors keep nothing
		_, err := a.Engine.Error(c.Context(), c.Caller, in.ID)
		return recoup.ErrorSource{}, err
	}
	return a.Sources.Source(c.Context(), c.Caller, in.ID)
}

type sourceLookIn struct {
	httpapi.IDParam
	Body wire.DecryptSourceRequest
}

func (a *API) decryptSource(c *httpapi.Call, in *sourceLookIn) (wire.DecryptedSource, error) {
	if a.Sources == nil {
		var f check.Fields
		reason := f.RequiredText("reason", in.Body.Reason, 1000)
		err := f.Err()
		if err == nil {
			_, err = a.Engine.Error(c.Context(), c.Caller, in.ID)
		}
		if err == nil {
			err = a.Store.AppendAudit(c.Context(), c.Act(reason).On("error.source", in.ID.String(), nil))
		}
		return wire.DecryptedSource{}, err
	}
	return a.Sources.DecryptSource(c.Context(), c.Caller, in.ID, in.Body.Reason)
}
