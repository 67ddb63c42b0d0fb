package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// Receivers are the addresses that the node delivers work to.
type Receivers interface {
	Receivers() []recoup.Receiver
}

// receiverRoutes are about delivered work.
func receiverRoutes() []*route {
	return []*route{
		operation(get, "/v1/receivers", "List receivers, and how deliveries go", (*API).listReceivers).by(Operator, Reader).forAllHubs().under(priority).tagged("operations"),
	}
}

func (a *API) listReceivers(*call, *struct{}) (client.Receivers, error) {
	return client.Receivers{Node: a.Node, Receivers: a.Receivers.Receivers()}, nil
}
