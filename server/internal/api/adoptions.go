package api

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// listAdoptions lists the adopted tables of the caller's hubs.
func (a *API) listAdoptions(c *call, _ *struct{}) (client.Adoptions, error) {
	if a.Adoptions == nil {
		return client.Adoptions{Adoptions: []recoup.Adoption{}}, nil
	}
	list, err := a.Adoptions(c.Context())
	list = slices.DeleteFunc(list, func(o recoup.Adoption) bool { return !a.mayTouch(c, o.Table) })
	return client.Adoptions{Adoptions: listed(list)}, err
}

// Sources has what errors keep of their rows of adopted tables.
type Sources interface {
	Source(ctx context.Context, c engine.Caller, id recoup.ID) (recoup.ErrorSource, error)
	DecryptSource(ctx context.Context, c engine.Caller, id recoup.ID, reason string) (recoup.DecryptedSource, error)
}

func (a *API) showSource(c *call, in *idIn) (recoup.ErrorSource, error) {
	if a.Sources == nil { // this store has no adopted tables, so that errors keep nothing
		_, err := a.Engine.Error(c.Context(), c.caller, in.ID)
		return recoup.ErrorSource{}, err
	}
	return a.Sources.Source(c.Context(), c.caller, in.ID)
}

type sourceLookIn struct {
	idIn
	Body client.SourceLook
}

func (a *API) decryptSource(c *call, in *sourceLookIn) (recoup.DecryptedSource, error) {
	if a.Sources == nil {
		var f check.Fields
		reason := f.RequiredText("reason", in.Body.Reason, 1000)
		err := f.Err()
		if err == nil {
			_, err = a.Engine.Error(c.Context(), c.caller, in.ID)
		}
		if err == nil {
			err = a.Store.AppendAudit(c.Context(), c.act(reason).On("error.source", in.ID.String(), nil))
		}
		return recoup.DecryptedSource{}, err
	}
	return a.Sources.DecryptSource(c.Context(), c.caller, in.ID, in.Body.Reason)
}
