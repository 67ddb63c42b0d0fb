package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// Submit enqueues work, at most 1000 pieces. Each succeeds or fails on its own; answers
// are in the order of the work. See [Item.Get].
func (s WorkService) Submit(ctx context.Context, work []recoup.NewWorkItem, options ...CallOption) ([]Item[recoup.WorkItem], error) {
	r := Request{Method: http.MethodPost, Path: "/v1/work", Body: recoup.NewWorkBatch{Work: work}, Safety: IdempotentByKey}
	answer, err := call[recoup.WorkBatch](ctx, s.c, r, options)
	if err != nil {
		return nil, err
	}
	return itemsOf(answer.Items, len(work))
}

// Claim leases work; with WaitSeconds it is a long poll. It may return none. If
// its answer is lost, what it leased can be claimed again when the leases expire.
// [StageWorker] does all of this by itself.
func (s WorkService) Claim(ctx context.Context, claim recoup.WorkClaim, options ...CallOption) ([]recoup.ClaimedWork, error) {
	r := Request{Method: http.MethodPost, Path: "/v1/work/claim", Body: claim, Wait: time.Duration(claim.WaitSeconds) * time.Second, Safety: Idempotent}
	answer, err := call[recoup.WorkClaimed](ctx, s.c, r, options)
	return answer.Work, err
}

// Results submits results in bulk, at most 1000. Each succeeds or fails on its own;
// answers are in the order of the results. See [Item.Get].
func (s WorkService) Results(ctx context.Context, results []recoup.WorkResult, options ...CallOption) ([]Item[recoup.WorkDone], error) {
	r := Request{Method: http.MethodPost, Path: "/v1/work/results", Body: recoup.WorkResultBatch{Results: results}, Safety: IdempotentByKey}
	answer, err := call[recoup.WorkDoneBatch](ctx, s.c, r, options)
	if err != nil {
		return nil, err
	}
	return itemsOf(answer.Items, len(results))
}

// Result submits the result of one piece of work. A failure whose class may be
// retried, and that is not final, puts the work back into the queue at the stage that
// failed, due after a back-off, until the stage has used the attempts of the policy; then,
// and after any other failure, the work is a dead letter.
func (s WorkService) Result(ctx context.Context, result recoup.WorkResult, options ...CallOption) (recoup.WorkDone, error) {
	r := Request{Method: http.MethodPost, Path: "/v1/work/" + result.WorkID.String() + "/" + result.Outcome, Safety: IdempotentByKey}
	if result.Outcome == recoup.OutcomeExtended {
		r.Safety = Idempotent
	}
	result.WorkID, result.Outcome = recoup.ID{}, ""
	r.Body = result
	return call[recoup.WorkDone](ctx, s.c, r, options)
}

// Progress returns the outputs of the stages that are finished.
func (s WorkService) Progress(ctx context.Context, work, token recoup.ID, options ...CallOption) (recoup.WorkProgress, error) {
	r := Request{Method: http.MethodPost, Path: "/v1/work/" + work.String() + "/progress", Body: recoup.WorkLease{LeaseToken: token}, Safety: Idempotent}
	return call[recoup.WorkProgress](ctx, s.c, r, options)
}

// SaveCheckpoint stores the output of a stage. When it returns nil the output is
// durable.
func (s WorkService) SaveCheckpoint(ctx context.Context, work recoup.ID, stage string, n recoup.NewCheckpoint, options ...CallOption) error {
	r := Request{Method: http.MethodPut, Path: "/v1/work/" + work.String() + "/checkpoints/" + url.PathEscape(stage), Body: n}
	_, err := call[struct{}](ctx, s.c, r, options)
	return err
}

// DeleteCheckpoints deletes the outputs of all stages of a piece of work.
func (s WorkService) DeleteCheckpoints(ctx context.Context, work, token recoup.ID, options ...CallOption) error {
	r := Request{Method: http.MethodPost, Path: "/v1/work/" + work.String() + "/forget", Body: recoup.WorkLease{LeaseToken: token}, Safety: Idempotent}
	_, err := call[struct{}](ctx, s.c, r, options)
	return err
}

// Pause keeps work from being claimed. It replaces an earlier pause of the same
// scope.
func (s WorkService) Pause(ctx context.Context, p recoup.NewPause, options ...CallOption) (recoup.WorkPause, error) {
	return call[recoup.WorkPause](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/pauses", Body: p, Safety: Idempotent}, options)
}

// Resume ends the pause of exactly this pipeline, stage and class.
func (s WorkService) Resume(ctx context.Context, p recoup.NewPause, options ...CallOption) error {
	q := query.Values{}.Text("pipeline", p.Pipeline).Text("stage", p.Stage).Text("error_class", string(p.Class)).Text("reason", p.Reason)
	_, err := call[struct{}](ctx, s.c, Request{Method: http.MethodDelete, Path: "/v1/pauses", Query: q.URL()}, options)
	return err
}

// Pauses lists what is paused, oldest first.
func (s WorkService) Pauses(ctx context.Context, options ...CallOption) ([]recoup.WorkPause, error) {
	answer, err := get[recoup.WorkPauses](ctx, s.c, "/v1/pauses", nil, options)
	return answer.Pauses, err
}
