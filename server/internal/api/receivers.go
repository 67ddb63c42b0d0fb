package api

import (
	"reflect"

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

// Read reads a document as a request's body of that type is read: strictly, and held
// to the rules of its fields.
func Read(document []byte, into any) error {
	t := reflect.TypeOf(into).Elem()
	var r reading
	if err := r.read(shapeOf(t), document, into); err != nil {
		return err
	}
	r.found.Merge(checkRules(rulesOf(t), reflect.ValueOf(into).Elem()))
	return r.found.Err()
}
