package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
)

// NewWorkBatch is many pieces of work; each succeeds or fails on its own.
type NewWorkBatch struct {
	Work []recoup.NewWork `json:"work" minItems:"1" maxItems:"1000" doc:"the pieces of work; each succeeds or fails on its own"`
}

// WorkBatch answers a [NewWorkBatch], in its order.
type WorkBatch struct {
	Items []Item[recoup.Work] `json:"items" doc:"an answer for each, in their order"`
}

// WorkClaimed is what a claim leased.
type WorkClaimed struct {
	Work []recoup.ClaimedWork `json:"work" doc:"what was leased, each with its lease_token; empty: there is none"`
}

// Released is the outcome of work that its worker gives back unfinished. It does not
// count as a failure.
const Released = "release"

// WorkResultBatch is many results; each succeeds or fails on its own.
type WorkResultBatch struct {
	Results []recoup.WorkResult `json:"results" minItems:"1" maxItems:"1000" doc:"the results; each succeeds or fails on its own"`
}

// WorkDoneBatch answers a [WorkResultBatch], in its order.
type WorkDoneBatch struct {
	Items []Item[recoup.WorkDone] `json:"items" doc:"an answer for each result, in their order"`
}

// WorkLease names work that a worker holds. Work that is not in the queue has no
// token.
type WorkLease struct {
	LeaseToken recoup.ID `json:"lease_token,omitzero" doc:"of the claim"`
}

// NewCheckpoint is the output of a finished stage.
type NewCheckpoint struct {
	LeaseToken recoup.ID `json:"lease_token,omitzero" doc:"of work that was claimed"`
	Output     []byte    `json:"output,omitempty" doc:"base64, at most 1 MiB; kept encrypted"`
}

// WorkPauses is what is paused, oldest first.
type WorkPauses struct {
	Pauses []recoup.WorkPause `json:"pauses" doc:"what is paused"`
}

// Submit enqueues work, at most 1000 pieces. Each succeeds or fails on its own; answers
// are in the order of the work. See [Item.Get].
func (c *Client) Submit(ctx context.Context, work []recoup.NewWork, options ...CallOption) ([]Item[recoup.Work], error) {
	r := request{method: http.MethodPost, path: "/v1/work", body: NewWorkBatch{work}, safety: keyed}
	answer, err := call[WorkBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(work))
}

// ClaimWork leases work; with WaitSeconds it is a long poll. It may return none. If
// its answer is lost, what it leased can be claimed again when the leases expire.
// [StageWorker] does all of this by itself.
func (c *Client) ClaimWork(ctx context.Context, claim recoup.WorkClaim, options ...CallOption) ([]recoup.ClaimedWork, error) {
	r := request{method: http.MethodPost, path: "/v1/work/claim", body: claim, wait: time.Duration(claim.WaitSeconds) * time.Second}
	answer, err := call[WorkClaimed](ctx, c, r, options)
	return answer.Work, err
}

// WorkResults submits results in bulk, at most 1000. Each succeeds or fails on its own;
// answers are in the order of the results. See [Item.Get].
func (c *Client) WorkResults(ctx context.Context, results []recoup.WorkResult, options ...CallOption) ([]Item[recoup.WorkDone], error) {
	r := request{method: http.MethodPost, path: "/v1/work/results", body: WorkResultBatch{results}, safety: keyed}
	answer, err := call[WorkDoneBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(results))
}

// WorkResult submits the result of one piece of work. A failure whose class may be
// retried, and that is not final, puts the work back into the queue at the stage that
// failed, due after a back-off, until the stage has used the attempts of the policy; then,
// and after any other failure, the work is a dead letter.
func (c *Client) WorkResult(ctx context.Context, result recoup.WorkResult, options ...CallOption) (recoup.WorkDone, error) {
	r := request{method: http.MethodPost, path: "/v1/work/" + result.WorkID.String() + "/" + result.Outcome, safety: keyed}
	if result.Outcome == Extended {
		r.safety = harmless
	}
	result.WorkID, result.Outcome = recoup.ID{}, ""
	r.body = result
	return call[recoup.WorkDone](ctx, c, r, options)
}

// Progress returns the outputs of the stages that are finished.
func (c *Client) Progress(ctx context.Context, work, token recoup.ID, options ...CallOption) (recoup.WorkProgress, error) {
	r := request{method: http.MethodPost, path: "/v1/work/" + work.String() + "/progress", body: WorkLease{token}}
	return call[recoup.WorkProgress](ctx, c, r, options)
}

// SaveCheckpoint stores the output of a stage. When it returns nil the output is
// durable.
func (c *Client) SaveCheckpoint(ctx context.Context, work recoup.ID, stage string, n NewCheckpoint, options ...CallOption) error {
	r := request{method: http.MethodPut, path: "/v1/work/" + work.String() + "/checkpoints/" + url.PathEscape(stage), body: n}
	_, err := call[struct{}](ctx, c, r, options)
	return err
}

// ForgetCheckpoints deletes the outputs of all stages of a piece of work.
func (c *Client) ForgetCheckpoints(ctx context.Context, work, token recoup.ID, options ...CallOption) error {
	r := request{method: http.MethodPost, path: "/v1/work/" + work.String() + "/forget", body: WorkLease{token}}
	_, err := call[struct{}](ctx, c, r, options)
	return err
}

// PauseWork keeps work from being claimed. It replaces an earlier pause of the same
// scope.
func (c *Client) PauseWork(ctx context.Context, p recoup.NewPause, options ...CallOption) (recoup.WorkPause, error) {
	return call[recoup.WorkPause](ctx, c, request{method: http.MethodPost, path: "/v1/pauses", body: p}, options)
}

// UnpauseWork ends the pause of exactly this pipeline, stage and class.
func (c *Client) UnpauseWork(ctx context.Context, p recoup.NewPause, options ...CallOption) error {
	q := query{}.text("pipeline", p.Pipeline).text("stage", p.Stage).text("error_class", string(p.Class)).text("reason", p.Reason)
	_, err := call[struct{}](ctx, c, request{method: http.MethodDelete, path: "/v1/pauses", query: q.values()}, options)
	return err
}

// WorkPauses lists what is paused, oldest first.
func (c *Client) WorkPauses(ctx context.Context, options ...CallOption) ([]recoup.WorkPause, error) {
	answer, err := get[WorkPauses](ctx, c, "/v1/pauses", nil, options)
	return answer.Pauses, err
}
