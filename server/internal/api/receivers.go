package api

import (
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Receivers are the addresses that the node delivers work to.
type Receivers interface {
	Receivers() []wire.Receiver
}

// receiverRoutes are about delivered work.
func receiverRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/receivers", "List receivers, and how deliveries go", (*API).listReceivers).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("operations"),
	}
}

func (a *API) listReceivers(*httpapi.Call, *struct{}) (wire.Receivers, error) {
	return wire.Receivers{Node: a.Node, Receivers: a.Receivers.Receivers()}, nil
}
