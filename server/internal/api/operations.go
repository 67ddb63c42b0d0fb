package api

import (
	"encoding/json"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// operationRoutes are about recorded bulk acts.
func operationRoutes() []*httpapi.Route {
	list := []*httpapi.Route{
		httpapi.WithCheck(httpapi.Op(post, "/v1/operations", "Freeze the errors that a filter selects, for one act on all of them", (*API).createOperation), (*API).checkOperation).Status(http.StatusCreated).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long().Repeat(httpapi.RepeatNotIdempotent),
		httpapi.Op(get, "/v1/operations", "List operations, newest first", (*API).listOperations).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(get, "/v1/operations/{id}", "Show an operation and how far it has come", (*API).showOperation).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(get, "/v1/operations/{id}/items", "List the members of an operation and the result of each", (*API).listOperationItems).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(post, "/v1/operations/{id}/confirm", "Confirm an operation: it is carried out", (*API).confirmOperation), (*API).checkConfirmation).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long(),
	}
	for _, verb := range [][2]string{
		{engine.OperationPause, "Pause an operation"},
		{engine.OperationResume, "Resume an operation"},
		{engine.OperationCancel, "Cancel an operation"},
	} {
		act, summary := verb[0], verb[1]
		rt := httpapi.Op(post, "/v1/operations/{id}/"+act, summary, func(a *API, c *httpapi.Call, in *operationActIn) (recoup.Operation, error) {
			return a.Engine.ActOnOperation(c.Context(), c.Caller, in.ID, act, in.Body.Reason)
		})
		list = append(list, httpapi.WithCheck(rt, func(a *API, _ *httpapi.Call, in *operationActIn) error { return a.Engine.CheckReason(in.Body.Reason) }).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority))
	}
	for _, rt := range list {
		rt.Tag("bulk operations")
	}
	return list
}

type newOperationIn struct{ Body recoup.NewOperation }

type confirmationIn struct {
	httpapi.IDParam
	Body recoup.Act
}

type operationActIn struct {
	httpapi.IDParam
	Body recoup.OperationAct
}

// operationOf reads a request for an operation. The filter is kept as it was sent, so that
// people can see what they asked for.
func (a *API) operationOf(b recoup.NewOperation) (engine.NewOperation, error) {
	var bad fault.FieldErrors
	filter, err := a.filterOf(b.Filter)
	bad.Merge(err)
	asked, err := json.Marshal(b.Filter)
	if err != nil {
		return engine.NewOperation{}, err
	}
	in := engine.NewOperation{Act: b.Act, Input: b.Input, Filter: filter, All: b.All, Asked: recoup.JSON(asked)}
	if bad.Err() == nil {
		bad.Merge(a.Engine.CheckOperation(in))
	}
	return in, bad.Err()
}

func (a *API) checkOperation(_ *httpapi.Call, in *newOperationIn) error {
	_, err := a.operationOf(in.Body)
	return err
}

// sampleSize is how many members the answer to a new operation shows.
const sampleSize = 10

func (a *API) createOperation(c *httpapi.Call, in *newOperationIn) (recoup.FrozenOperation, error) {
	asked, err := a.operationOf(in.Body)
	if err != nil {
		return recoup.FrozenOperation{}, err
	}
	var o recoup.Operation
	err = c.InLongTurn(func() (err error) { // it reads up to 100,000 errors
		o, err = a.Engine.Freeze(c.Context(), c.Caller, asked)
		return err
	})
	if err != nil {
		return recoup.FrozenOperation{}, err
	}
	sample, _, err := a.Engine.OperationItems(c.Context(), c.Caller, o.ID, "", 0, sampleSize)
	return recoup.FrozenOperation{Operation: o, Sample: httpapi.Listed(sample)}, err
}

func (a *API) checkConfirmation(_ *httpapi.Call, in *confirmationIn) error {
	return a.Engine.CheckSaid(in.Body)
}

func (a *API) confirmOperation(c *httpapi.Call, in *confirmationIn) (recoup.Operation, error) {
	return a.Engine.Confirm(c.Context(), c.Caller, in.ID, in.Body)
}

type operationsIn struct {
	State string `query:"state" enum:"COLLECTING,FROZEN,RUNNING,PAUSED,CANCELLED,DONE" doc:"only operations in this state"`
	httpapi.Page
}

func (a *API) listOperations(c *httpapi.Call, in *operationsIn) (recoup.OperationPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.OperationPage{}, err
	}
	found, cursor, err := a.Engine.Operations(c.Context(), c.Caller, recoup.OperationState(in.State), at)
	return recoup.OperationPage{Operations: httpapi.Listed(found), Next: httpapi.NextCursor(cursor)}, err
}

func (a *API) showOperation(c *httpapi.Call, in *httpapi.IDParam) (recoup.Operation, error) {
	return a.Engine.Operation(c.Context(), c.Caller, in.ID)
}

type operationItemsIn struct {
	httpapi.IDParam
	Result string `query:"result" enum:"PENDING,APPLIED,REFUSED" doc:"only members with this result"`
	From   int    `query:"from" minimum:"0" default:"0" doc:"the position from which on"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
}

func (a *API) listOperationItems(c *httpapi.Call, in *operationItemsIn) (recoup.OperationItems, error) {
	items, next, err := a.Engine.OperationItems(c.Context(), c.Caller, in.ID, recoup.OperationResult(in.Result), in.From, in.Limit)
	return recoup.OperationItems{Items: httpapi.Listed(items), Next: max(next, 0)}, err
}
