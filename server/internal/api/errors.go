package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func (a *API) showError(c *httpapi.Call, in *httpapi.IDParam) (recoup.Error, error) {
	found, err := a.Engine.Error(c.Context(), c.Caller, in.ID)
	return visible(found)[0], err
}

func (a *API) history(c *httpapi.Call, in *httpapi.IDParam) (recoup.ErrorHistory, error) {
	rows, err := a.Engine.History(c.Context(), c.Caller, in.ID, sqldb.MaxPage)
	for i := range rows {
		rows[i].Attempt = recoup.ID{}
	}
	if rows == nil {
		rows = []recoup.Transition{}
	}
	return recoup.ErrorHistory{Transitions: rows}, err
}

func (a *API) explain(c *httpapi.Call, in *httpapi.IDParam) (recoup.Explanation, error) {
	x, err := a.Engine.Explain(c.Context(), c.Caller, in.ID)
	x.Error = x.Error.Public()
	return x, err
}

func (a *API) counts(c *httpapi.Call, _ *struct{}) (recoup.StateCounts, error) {
	found, err := a.Engine.Counts(c.Context(), c.Caller)
	return recoup.StateCounts{Counts: httpapi.Listed(found)}, err
}

// visible is an error as lists show it: the token of a lease is its worker's.
func visible(errs ...recoup.Error) []recoup.Error {
	for i := range errs {
		errs[i] = errs[i].Public()
	}
	return httpapi.Listed(errs)
}
