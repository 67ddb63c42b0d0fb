package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/recoup-dev/recoup"
)

// NewOperation asks for an act on all errors that a filter selects now. Nothing is done
// until the operation is confirmed.
type NewOperation struct {
	Act    Verb   `json:"act" enum:"park,unpark,resolve,escalate,archive,assign,review" doc:"what to do with each error"`
	Filter Filter `json:"filter,omitzero" doc:"which errors"`
	All    bool   `json:"all,omitempty" doc:"an empty filter is meant"`
	Input  Act    `json:"input,omitzero" doc:"what is said with the act; what is left out can be said with the confirmation"`
}

// FrozenOperation is an operation whose members are fixed, with the first of them.
type FrozenOperation struct {
	recoup.Operation
	Sample []recoup.OperationItem `json:"sample" doc:"the first of its members"`
}

// OperationPage is a page of operations, newest first.
type OperationPage struct {
	Operations []recoup.Operation `json:"operations" doc:"this page of the list"`
	Next       string             `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// OperationItems is a page of members, in the order of their positions. Next is the
// position from which the list goes on; zero: it has ended.
type OperationItems struct {
	Items []recoup.OperationItem `json:"items" doc:"members, in their order"`
	Next  int                    `json:"next,omitempty" doc:"the position at which the next page begins; none: this is the last"`
}

// OperationAct is a reason to pause, resume or cancel an operation.
type OperationAct struct {
	Reason string `json:"reason" maxLength:"1000" doc:"why"`
}

// CreateOperation freezes the errors that a filter selects, up to 100,000. What matches
// later is not among them; [Client.ConfirmOperation] has the act carried out.
func (c *Client) CreateOperation(ctx context.Context, n NewOperation, options ...CallOption) (FrozenOperation, error) {
	return call[FrozenOperation](ctx, c, request{method: http.MethodPost, path: "/v1/operations", body: n, safety: once}, options)
}

// ConfirmOperation has an operation carried out by the server, in the name of the key. What
// was not said with the act before is said now.
func (c *Client) ConfirmOperation(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (recoup.Operation, error) {
	return call[recoup.Operation](ctx, c, request{method: http.MethodPost, path: "/v1/operations/" + id.String() + "/confirm", body: a}, options)
}

// Operations lists operations, in one state or in all, newest first.
func (c *Client) Operations(ctx context.Context, state string, p Page, options ...CallOption) (OperationPage, error) {
	return get[OperationPage](ctx, c, "/v1/operations", p.query(query{}.text("state", state)), options)
}

// Operation returns an operation and how far it has come.
func (c *Client) Operation(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Operation, error) {
	return get[recoup.Operation](ctx, c, "/v1/operations/"+id.String(), nil, options)
}

// OperationItems lists the members of an operation, with one result or all, from a
// position on.
func (c *Client) OperationItems(ctx context.Context, id recoup.ID, result string, from, limit int, options ...CallOption) (OperationItems, error) {
	q := query{}.text("result", result).number("limit", limit)
	if from > 0 {
		q = q.text("from", strconv.Itoa(from))
	}
	return get[OperationItems](ctx, c, "/v1/operations/"+id.String()+"/items", q.values(), options)
}

// PauseOperation stops an operation between two of its members.
func (c *Client) PauseOperation(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Operation, error) {
	return c.operationAct(ctx, id, "pause", reason, options)
}

// ResumeOperation resumes a paused operation where it stood.
func (c *Client) ResumeOperation(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Operation, error) {
	return c.operationAct(ctx, id, "resume", reason, options)
}

// CancelOperation ends an operation. Members without a result are as they were.
func (c *Client) CancelOperation(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Operation, error) {
	return c.operationAct(ctx, id, "cancel", reason, options)
}

func (c *Client) operationAct(ctx context.Context, id recoup.ID, verb, reason string, options []CallOption) (recoup.Operation, error) {
	return call[recoup.Operation](ctx, c, request{method: http.MethodPost, path: "/v1/operations/" + id.String() + "/" + verb, body: OperationAct{reason}}, options)
}
