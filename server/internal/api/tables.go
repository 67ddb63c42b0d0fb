package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// tables lists the error tables that the caller may see, and what has their names.
func (a *API) tables(c *httpapi.Call, _ *struct{}) (client.Tables, error) {
	names, err := a.Store.TableNames(c.Context())
	if err != nil {
		return client.Tables{}, err
	}
	byTable := map[string][]recoup.TableName{}
	for _, n := range names {
		byTable[n.Table] = append(byTable[n.Table], n)
	}
	var list []recoup.ErrorTable
	for _, t := range a.Engine.Policies.Current().Tables() {
		if a.mayTouch(c, t.Name) {
			list = append(list, recoup.ErrorTable{
				Table: t.Name, Hub: t.Hub, EntityColumn: t.EntityColumn, Default: t.Default, Blocks: t.Blocks, Archive: t.Archive,
				Names: httpapi.Listed(byTable[t.Name]),
			})
		}
	}
	return client.Tables{Tables: httpapi.Listed(list)}, nil
}
