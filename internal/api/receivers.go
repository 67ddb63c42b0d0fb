package api

import (
	"encoding/json"
	"reflect"

	"recoup/client"
	"recoup/fault"
	"recoup/internal/deadletter"
)

// Receivers are the addresses that the node delivers work to.
type Receivers interface {
	Receivers() []client.Receiver
}

// receiverRoutes are about delivered work, which is told in the words that claims and
// results have: the functions below are for who delivers it.
func receiverRoutes() []*route {
	return []*route{
		operation(get, "/v1/receivers", "List the addresses that this node delivers work to, and how it goes", (*API).listReceivers).by(Operator, Reader).forAllHubs().under(vital).tagged("operations"),
	}
}

func (a *API) listReceivers(*call, *struct{}) (client.Receivers, error) {
	return client.Receivers{Node: a.Node, Receivers: a.Receivers.Receivers()}, nil
}

// ClaimedWork is work as a claim answers with it.
func ClaimedWork(w *deadletter.Claimed) client.Work {
	out := workOf(&w.QueuedWork)
	out.LeaseToken, out.Payload, out.Context = w.LeaseToken, w.Payload, json.RawMessage(w.Context)
	return out
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

// WorkResult is a worker's word as the service takes it.
func WorkResult(r *client.WorkResult) (deadletter.Result, error) {
	out := deadletter.Result{WorkID: r.WorkID, Token: r.LeaseToken, Outcome: r.Outcome, Lease: seconds(r.LeaseSeconds)}
	switch failed := r.Outcome == deadletter.Failed; {
	case failed && r.Failure == nil:
		return out, fault.BadField("failure", "required", "failure is required: how it failed")
	case failed:
		out.Failure = *r.Failure
	case r.Failure != nil:
		return out, fault.BadField("failure", "outcome", "failure belongs to the outcome fail")
	}
	return out, nil
}
