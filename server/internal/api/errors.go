package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

type idIn struct {
	ID recoup.ID `path:"id" doc:"a UUID, or a ULID"`
}

func (a *API) showError(c *call, in *idIn) (recoup.Error, error) {
	found, err := a.Engine.Error(c.r.Context(), c.caller, in.ID)
	return visible(found)[0], err
}

func (a *API) history(c *call, in *idIn) (client.History, error) {
	rows, err := a.Engine.History(c.r.Context(), c.caller, in.ID, sqldb.MaxPage)
	for i := range rows {
		rows[i].Attempt = recoup.ID{}
	}
	if rows == nil {
		rows = []recoup.Transition{}
	}
	return client.History{Transitions: rows}, err
}

func (a *API) explain(c *call, in *idIn) (recoup.Explanation, error) {
	x, err := a.Engine.Explain(c.r.Context(), c.caller, in.ID)
	x.Error = x.Error.Public()
	return x, err
}

func (a *API) counts(c *call, _ *struct{}) (client.Counts, error) {
	found, err := a.Engine.Counts(c.r.Context(), c.caller)
	return client.Counts{Counts: listed(found)}, err
}
