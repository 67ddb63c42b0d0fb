package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// Act does an act on one error. An act that its state does not allow is refused with
// INVALID_TRANSITION, whose details name the acts that it does allow.
func (s ErrorService) Act(ctx context.Context, name recoup.ActName, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	path := "/v1/errors/" + id.String() + "/" + string(name)
	return call[recoup.ActResult](ctx, s.c, Request{Method: http.MethodPost, Path: path, Body: a, Safety: IdempotentByKey}, options)
}

// Park takes an error out of automatic retry until a person acts on it.
func (s ErrorService) Park(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActPark, id, a, options...)
}

// Unpark returns a parked error to automatic retry.
func (s ErrorService) Unpark(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActUnpark, id, a, options...)
}

// Resolve marks an error as resolved by hand.
func (s ErrorService) Resolve(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActResolve, id, a, options...)
}

// Escalate moves a parked error to the next escalation tier, or to a.Tier.
func (s ErrorService) Escalate(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActEscalate, id, a, options...)
}

// Archive moves an error to the archive before its time.
func (s ErrorService) Archive(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActArchive, id, a, options...)
}

// Assign gives a parked error to a.To.
func (s ErrorService) Assign(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActAssign, id, a, options...)
}

// Review records that a person has looked at a parked error.
func (s ErrorService) Review(ctx context.Context, id recoup.ID, a recoup.Act, options ...CallOption) (recoup.ActResult, error) {
	return s.Act(ctx, recoup.ActReview, id, a, options...)
}

// ActOnIDs does an act on many errors: those of b.IDs, or those that the Token of a preview
// stands for. For the errors that a filter selects, see [OperationService.Create].
//
// The call is not retried where it may have taken effect, because a second
// escalation would be one more: after such a failure, check before acting again.
func (s ErrorService) ActOnIDs(ctx context.Context, name recoup.ActName, b recoup.BulkAct, options ...CallOption) (recoup.BulkResult, error) {
	r := Request{Method: http.MethodPost, Path: "/v1/errors/" + string(name), Body: b, Safety: NotIdempotent}
	if b.Preview {
		r.Safety = Idempotent
	}
	return call[recoup.BulkResult](ctx, s.c, r, options)
}
