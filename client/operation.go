package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// Create freezes the errors that a filter selects, up to 100,000. What matches
// later is not among them; [OperationService.Confirm] has the act carried out.
func (s OperationService) Create(ctx context.Context, n recoup.NewOperation, options ...CallOption) (recoup.FrozenOperation, error) {
	return call[recoup.FrozenOperation](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/operations", Body: n, Safety: NotIdempotent}, options)
}

// Confirm has an operation carried out by the server, in the name of the key. What
// was not said with the act before is said now.
func (s OperationService) Confirm(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.Operation, error) {
	return call[recoup.Operation](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/operations/" + id.String() + "/confirm", Body: a, Safety: Idempotent}, options)
}

// List lists operations, in one state or in all, newest first.
func (s OperationService) List(ctx context.Context, state string, p Page, options ...CallOption) (recoup.OperationPage, error) {
	return get[recoup.OperationPage](ctx, s.c, "/v1/operations", pageQuery(p, query.Values{}.Text("state", state)), options)
}

// Get returns an operation and how far it has come.
func (s OperationService) Get(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Operation, error) {
	return get[recoup.Operation](ctx, s.c, "/v1/operations/"+id.String(), nil, options)
}

// Items lists the members of an operation, with one result or all, from a
// position on.
func (s OperationService) Items(ctx context.Context, id recoup.ID, result string, from, limit int, options ...CallOption) (recoup.OperationItems, error) {
	q := query.Values{}.Text("result", result).Number("limit", limit)
	if from > 0 {
		q = q.Text("from", strconv.Itoa(from))
	}
	return get[recoup.OperationItems](ctx, s.c, "/v1/operations/"+id.String()+"/items", q.URL(), options)
}

// Pause stops an operation between two of its members.
func (s OperationService) Pause(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Operation, error) {
	return s.act(ctx, id, "pause", reason, options)
}

// Resume resumes a paused operation where it stood.
func (s OperationService) Resume(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Operation, error) {
	return s.act(ctx, id, "resume", reason, options)
}

// Cancel ends an operation. Members without a result are as they were.
func (s OperationService) Cancel(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Operation, error) {
	return s.act(ctx, id, "cancel", reason, options)
}

func (s OperationService) act(ctx context.Context, id recoup.ID, verb, reason string, options []CallOption) (recoup.Operation, error) {
	return call[recoup.Operation](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/operations/" + id.String() + "/" + verb, Body: recoup.OperationAct{Reason: reason}, Safety: Idempotent}, options)
}
