package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// Receivers are the addresses that the node delivers work to.
type Receivers interface {
	Receivers() []recoup.Receiver
}

// receiverRoutes are about delivered work.
func receiverRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/receivers", "List receivers, and how deliveries go", (*API).listReceivers).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("operations"),
	}
}

func (a *API) listReceivers(*httpapi.Call, *struct{}) (client.Receivers, error) {
	return client.Receivers{Node: a.Node, Receivers: a.Receivers.Receivers()}, nil
}
