package api

import (
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// tables lists the error tables that the caller may see, and what has their names.
func (a *API) tables(c *httpapi.Call, _ *struct{}) (wire.Tables, error) {
	names, err := a.Store.TableNames(c.Context())
	if err != nil {
		return wire.Tables{}, err
	}
	byTable := map[string][]wire.TableName{}
	for _, n := range names {
		byTable[n.Table] = append(byTable[n.Table], n)
	}
	var list []wire.ErrorTable
	for _, t := range a.Engine.Policies.Current().Tables() {
		if a.mayTouch(c, t.Name) {
			list = append(list, wire.ErrorTable{
				Table: t.Name, Hub: t.Hub, EntityColumn: t.EntityColumn, Default: t.Default, Blocks: t.Blocks, Archive: t.Archive,
				Names: httpapi.Listed(byTable[t.Name]),
			})
		}
	}
	return wire.Tables{Tables: httpapi.Listed(list)}, nil
}
