package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func (a *API) showError(c *call, in *idIn) (recoup.Error, error) {
	found, err := a.Engine.Error(c.Context(), c.caller, in.ID)
	return visible(found)[0], err
}

func (a *API) history(c *call, in *idIn) (client.History, error) {
	rows, err := a.Engine.History(c.Context(), c.caller, in.ID, store.MaxPage)
	for i := range rows {
		rows[i].Attempt = recoup.ID{}
	}
	if rows == nil {
		rows = []recoup.Transition{}
	}
	return client.History{Transitions: rows}, err
}

func (a *API) explain(c *call, in *idIn) (recoup.Explanation, error) {
	x, err := a.Engine.Explain(c.Context(), c.caller, in.ID)
	x.Error = x.Error.Public()
	return x, err
}

func (a *API) counts(c *call, _ *struct{}) (client.Counts, error) {
	found, err := a.Engine.Counts(c.Context(), c.caller)
	return client.Counts{Counts: listed(found)}, err
}

// visible is an error as lists show it: the token of a lease is its worker's.
func visible(errs ...recoup.Error) []recoup.Error {
	for i := range errs {
		errs[i] = errs[i].Public()
	}
	return listed(errs)
}
