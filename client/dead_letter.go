package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// Record records work that failed for good. For claimed work use
// [WorkService.Results], which does the same for many results at once.
func (s DeadLetterService) Record(ctx context.Context, f recoup.StageFailure, options ...CallOption) (recoup.DeadLetter, error) {
	return call[recoup.DeadLetter](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/dead-letters", Body: f, Safety: IdempotentByKey}, options)
}

// List lists dead letters, newest first.
func (s DeadLetterService) List(ctx context.Context, f recoup.DeadLetterFilter, p Page, options ...CallOption) (recoup.DeadLetterPage, error) {
	return get[recoup.DeadLetterPage](ctx, s.c, "/v1/dead-letters", pageQuery(p, letterQuery(f)), options)
}

// All walks all dead letters that the filter selects, newest first.
func (s DeadLetterService) All(ctx context.Context, f recoup.DeadLetterFilter) iter.Seq2[recoup.DeadLetter, error] {
	return Walk(ctx, func(ctx context.Context, p Page) ([]recoup.DeadLetter, string, error) {
		page, err := s.List(ctx, f, p)
		return page.DeadLetters, page.Next, err
	})
}

// Get returns a dead letter with its rounds, notes and replays.
func (s DeadLetterService) Get(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.DeadLetterDetails, error) {
	return get[recoup.DeadLetterDetails](ctx, s.c, "/v1/dead-letters/"+id.String(), nil, options)
}

// Triage records the root cause, and confirms the class, the stage and whether the
// retries were exhausted. It is the first act of the workflow: triage, remediate,
// validate, replay, verify. An act out of order is refused with INVALID_TRANSITION,
// whose details name the missing_step.
func (s DeadLetterService) Triage(ctx context.Context, id recoup.ID, t recoup.Triage, options ...CallOption) (recoup.DeadLetter, error) {
	return s.step(ctx, id, "triage", t, options)
}

// Remediate records what was done about the cause.
func (s DeadLetterService) Remediate(ctx context.Context, id recoup.ID, r recoup.Remediation, options ...CallOption) (recoup.DeadLetter, error) {
	return s.step(ctx, id, "remediate", r, options)
}

// Validate confirms that a replay is safe.
func (s DeadLetterService) Validate(ctx context.Context, id recoup.ID, v recoup.Validation, options ...CallOption) (recoup.DeadLetter, error) {
	return s.step(ctx, id, "validate", v, options)
}

// Verify records whether the result of the replay has arrived; if so, it closes the
// dead letter.
func (s DeadLetterService) Verify(ctx context.Context, id recoup.ID, v recoup.Verification, options ...CallOption) (recoup.DeadLetter, error) {
	return s.step(ctx, id, "verify", v, options)
}

func (s DeadLetterService) step(ctx context.Context, id recoup.ID, verb string, body any, options []CallOption) (recoup.DeadLetter, error) {
	return call[recoup.DeadLetter](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/dead-letters/" + id.String() + "/" + verb, Body: body, Safety: IdempotentByKey}, options)
}

// Replay sends one dead letter back to work. A second replay of it is refused
// while the first is under way.
func (s DeadLetterService) Replay(ctx context.Context, id recoup.ID, r recoup.SingleReplay, options ...CallOption) (recoup.Replay, error) {
	return call[recoup.Replay](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/dead-letters/" + id.String() + "/replay", Body: r, Safety: NotIdempotent}, options)
}

// Payload returns the payload of a dead letter, if the server keeps it. Every
// read is audited.
func (s DeadLetterService) Payload(ctx context.Context, id recoup.ID, reason string, options ...CallOption) ([]byte, error) {
	r := Request{Method: http.MethodPost, Path: "/v1/dead-letters/" + id.String() + "/payload", Body: recoup.DeadLetterPayloadRequest{Reason: reason}, Safety: Idempotent}
	answer, err := call[recoup.DeadLetterPayload](ctx, s.c, r, options)
	return answer.Payload, err
}

func letterQuery(f recoup.DeadLetterFilter) query.Values {
	return query.Values{}.Text("pipeline", f.Pipeline).Text("stage", f.Stage).Text("error_class", string(f.Class)).Text("step", string(f.Step)).
		Text("group_id", f.GroupID.String()).Time("after", f.After).Time("before", f.Before)
}
