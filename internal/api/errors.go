package api

import (
	"recoup"
	"recoup/client"
	"recoup/internal/store"
)

type idIn struct {
	ID recoup.ID `path:"id"`
}

func (a *API) showError(c *call, in *idIn) (recoup.Error, error) {
	found, err := a.Engine.Error(c.r.Context(), c.caller, in.ID)
	return visible(found)[0], err
}

func (a *API) history(c *call, in *idIn) (client.History, error) {
	rows, err := a.Engine.History(c.r.Context(), c.caller, in.ID, store.MaxPage)
	for i := range rows {
		rows[i].Attempt = recoup.ID{}
	}
	if rows == nil {
		rows = []recoup.Transition{}
	}
	return client.History{Transitions: rows}, err
}

func (a *API) explain(c *call, in *idIn) (client.Explanation, error) {
	x, err := a.Engine.Explain(c.r.Context(), c.caller, in.ID)
	if err != nil {
		return client.Explanation{}, err
	}
	out := client.Explanation{
		Error: visible(x.Error)[0], Policy: x.Policy, Owner: x.Owner,
		Decided: []client.Rule{}, Next: []client.Deadline{}, Exits: []string{},
	}
	for _, r := range x.Decided {
		out.Decided = append(out.Decided, client.Rule(r))
	}
	for _, d := range x.Next {
		out.Next = append(out.Next, client.Deadline{At: d.At, What: string(d.Kind)})
	}
	for _, kind := range x.Exits {
		out.Exits = append(out.Exits, string(kind))
	}
	if x.Rebasable {
		out.Newer = a.Engine.Policies.Current().Version
	}
	return out, nil
}

func (a *API) counts(c *call, _ *struct{}) (client.Counts, error) {
	found, err := a.Engine.Counts(c.r.Context(), c.caller)
	return client.Counts{Counts: each(found, func(n store.Count) client.Count { return client.Count(n) })}, err
}
