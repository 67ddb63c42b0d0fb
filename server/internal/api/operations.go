package api

import (
	"encoding/json"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// operationRoutes are about recorded bulk acts.
func operationRoutes() []*route {
	list := []*route{
		checked(operation(post, "/v1/operations", "Freeze the errors that a filter selects, for one act on all of them", (*API).createOperation), (*API).checkOperation).answers(http.StatusCreated).by(Operator).under(priority).takesLong().repeats(notIdempotent),
		operation(get, "/v1/operations", "List operations, newest first", (*API).listOperations).by(readers()...).under(priority),
		operation(get, "/v1/operations/{id}", "Show an operation and how far it has come", (*API).showOperation).by(readers()...).under(priority),
		operation(get, "/v1/operations/{id}/items", "List the members of an operation and the result of each", (*API).listOperationItems).by(readers()...).under(priority),
		checked(operation(post, "/v1/operations/{id}/confirm", "Confirm an operation: it is carried out", (*API).confirmOperation), (*API).checkConfirmation).by(Operator).under(priority).takesLong(),
	}
	for _, verb := range [][2]string{
		{engine.OperationPause, "Pause an operation"},
		{engine.OperationResume, "Resume an operation"},
		{engine.OperationCancel, "Cancel an operation"},
	} {
		act, summary := verb[0], verb[1]
		rt := operation(post, "/v1/operations/{id}/"+act, summary, func(a *API, c *call, in *operationActIn) (recoup.Operation, error) {
			return a.Engine.ActOnOperation(c.Context(), c.caller, in.ID, act, in.Body.Reason)
		})
		list = append(list, checked(rt, func(a *API, _ *call, in *operationActIn) error { return a.Engine.CheckReason(in.Body.Reason) }).by(Operator).under(priority))
	}
	for _, rt := range list {
		rt.tagged("bulk operations")
	}
	return list
}

type newOperationIn struct{ Body client.NewOperation }

type confirmationIn struct {
	idIn
	Body client.Act
}

type operationActIn struct {
	idIn
	Body client.OperationAct
}

// operationOf reads a request for an operation. The filter is kept as it was sent, so that
// people can see what they asked for.
func (a *API) operationOf(b client.NewOperation) (engine.NewOperation, error) {
	var bad fault.FieldErrors
	filter, err := a.filterOf(b.Filter)
	bad.Merge(err)
	asked, err := json.Marshal(b.Filter)
	if err != nil {
		return engine.NewOperation{}, err
	}
	in := engine.NewOperation{Act: string(b.Act), Input: b.Input, Filter: filter, All: b.All, Asked: recoup.JSON(asked)}
	if bad.Err() == nil {
		bad.Merge(a.Engine.CheckOperation(in))
	}
	return in, bad.Err()
}

func (a *API) checkOperation(_ *call, in *newOperationIn) error {
	_, err := a.operationOf(in.Body)
	return err
}

// sampleSize is how many members the answer to a new operation shows.
const sampleSize = 10

func (a *API) createOperation(c *call, in *newOperationIn) (client.FrozenOperation, error) {
	asked, err := a.operationOf(in.Body)
	if err != nil {
		return client.FrozenOperation{}, err
	}
	o, err := a.Engine.Freeze(c.Context(), c.caller, asked)
	if err != nil {
		return client.FrozenOperation{}, err
	}
	sample, _, err := a.Engine.OperationItems(c.Context(), c.caller, o.ID, "", 0, sampleSize)
	return client.FrozenOperation{Operation: o, Sample: listed(sample)}, err
}

func (a *API) checkConfirmation(_ *call, in *confirmationIn) error {
	return a.Engine.CheckSaid(in.Body)
}

func (a *API) confirmOperation(c *call, in *confirmationIn) (recoup.Operation, error) {
	return a.Engine.Confirm(c.Context(), c.caller, in.ID, in.Body)
}

type operationsIn struct {
	State string `query:"state" enum:"COLLECTING,FROZEN,RUNNING,PAUSED,CANCELLED,DONE" doc:"only operations in this state"`
	page
}

func (a *API) listOperations(c *call, in *operationsIn) (client.OperationPage, error) {
	at, err := in.read()
	if err != nil {
		return client.OperationPage{}, err
	}
	found, cursor, err := a.Engine.Operations(c.Context(), c.caller, recoup.OperationState(in.State), at)
	return client.OperationPage{Operations: listed(found), Next: next(cursor)}, err
}

func (a *API) showOperation(c *call, in *idIn) (recoup.Operation, error) {
	return a.Engine.Operation(c.Context(), c.caller, in.ID)
}

type operationItemsIn struct {
	idIn
	Result string `query:"result" enum:"PENDING,APPLIED,REFUSED" doc:"only members with this result"`
	From   int    `query:"from" minimum:"0" default:"0" doc:"the position from which on"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
}

func (a *API) listOperationItems(c *call, in *operationItemsIn) (client.OperationItems, error) {
	items, next, err := a.Engine.OperationItems(c.Context(), c.caller, in.ID, recoup.OperationResult(in.Result), in.From, in.Limit)
	return client.OperationItems{Items: listed(items), Next: max(next, 0)}, err
}
