package api

import (
	"slices"

	"recoup"
	"recoup/client"
)

// listAdoptions lists the adopted tables of the caller's hubs.
func (a *API) listAdoptions(c *call, _ *struct{}) (client.Adoptions, error) {
	if a.Adoptions == nil {
		return client.Adoptions{Adoptions: []recoup.Adoption{}}, nil
	}
	list, err := a.Adoptions(c.r.Context())
	list = slices.DeleteFunc(list, func(o recoup.Adoption) bool { return !a.mayTouch(c, o.Table) })
	return client.Adoptions{Adoptions: listed(list)}, err
}
