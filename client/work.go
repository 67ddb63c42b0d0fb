package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"recoup"
)

// NewWork is something to be taken through a pipeline.
type NewWork struct {
	WorkID       recoup.ID `json:"work_id,omitzero" doc:"default: one is made; work of an id that is in the queue is not there twice"`
	Pipeline     string    `json:"pipeline" example:"criticizer"`
	Stage        string    `json:"stage" doc:"the first" example:"fetch"`
	PayloadRef   string    `json:"payload_ref,omitempty" doc:"where the payload can be found"`
	PayloadHash  string    `json:"payload_hash,omitempty" doc:"hexadecimal"`
	Payload      []byte    `json:"payload,omitempty" doc:"base64, at most 256 KiB; kept encrypted"`
	DelaySeconds int       `json:"delay_seconds,omitempty" minimum:"0" maximum:"2592000"`
}

// NewWorkBatch is much work; each is answered for itself.
type NewWorkBatch struct {
	Work []NewWork `json:"work" minItems:"1" maxItems:"1000"`
}

// Work is a piece of work in the queue.
type Work struct {
	WorkID      recoup.ID       `json:"work_id"`
	Pipeline    string          `json:"pipeline"`
	Stage       string          `json:"stage" doc:"at which it goes on"`
	Class       recoup.Code     `json:"error_class,omitempty" doc:"of the dead letter that is replayed"`
	ReplayID    recoup.ID       `json:"replay_id,omitzero"`
	ErrorID     recoup.ID       `json:"error_id,omitzero" doc:"of the dead letter that is replayed"`
	PayloadRef  string          `json:"payload_ref,omitempty"`
	PayloadHash string          `json:"payload_hash,omitempty"`
	Payload     []byte          `json:"payload,omitempty" doc:"base64; only for the worker that has claimed it"`
	Context     json.RawMessage `json:"sanitized_context,omitempty" doc:"of the dead letter that is replayed, as its last failure left it"`
	CreatedAt   time.Time       `json:"created_at"`
	DueAt       time.Time       `json:"due_at,omitzero"`
	LeaseToken  recoup.ID       `json:"lease_token,omitzero" doc:"only for the worker that has claimed it"`
	LeasedAt    time.Time       `json:"leased_at,omitzero"`
	LeaseEndsAt time.Time       `json:"lease_ends_at,omitzero"`
	Claims      int             `json:"claims,omitempty"`
	Lapses      int             `json:"lapses,omitempty" doc:"how many workers were lost over it"`
	Repeated    bool            `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// fresh reports whether nobody has worked on it before, so that it cannot have
// checkpoints.
func (w *Work) fresh() bool { return w.Claims <= 1 && w.ReplayID.IsZero() }

// WorkBatch answers a [NewWorkBatch], in its order.
type WorkBatch struct {
	Items []Item[Work] `json:"items"`
}

// Lane is where work is claimed: at a stage of a pipeline.
type Lane struct {
	Pipeline string `json:"pipeline"`
	Stage    string `json:"stage"`
}

// WorkClaim asks for work.
type WorkClaim struct {
	Lanes        []Lane `json:"lanes" minItems:"1" maxItems:"100"`
	Worker       string `json:"worker" doc:"a name for the history"`
	Limit        int    `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"default 10"`
	LeaseSeconds int    `json:"lease_seconds,omitempty" minimum:"0" doc:"default: the policy's"`
	WaitSeconds  int    `json:"wait_seconds,omitempty" minimum:"0" maximum:"60" doc:"how long to wait if there is none"`
}

// WorkClaimed is what a claim leased.
type WorkClaimed struct {
	Work []Work `json:"work"`
}

// Released is the outcome of work that its worker gives back unfinished, through no
// fault of the work.
const Released = "release"

// WorkResult is a worker's word on work that it has. Of a failure, Failure says
// what a dead letter needs.
type WorkResult struct {
	WorkID       recoup.ID            `json:"work_id,omitzero" doc:"not where the path names it"`
	LeaseToken   recoup.ID            `json:"lease_token"`
	Outcome      string               `json:"outcome,omitempty" enum:"succeed,fail,extend,release" doc:"not where the path says it"`
	LeaseSeconds int                  `json:"lease_seconds,omitempty" minimum:"0" doc:"extend: from now on"`
	Failure      *recoup.StageFailure `json:"failure,omitempty" doc:"fail: how"`
}

// WorkResultBatch is many results; each is answered for itself.
type WorkResultBatch struct {
	Results []WorkResult `json:"results" minItems:"1" maxItems:"1000"`
}

// WorkDone is what became of a result: the work as it is in the queue, if it still
// is, and its dead letter, if it has one.
type WorkDone struct {
	Work       *Work              `json:"work,omitempty"`
	DeadLetter *recoup.DeadLetter `json:"dead_letter,omitempty"`
	Repeated   bool               `json:"repeated,omitempty"`
}

// WorkDoneBatch answers a [WorkResultBatch], in its order.
type WorkDoneBatch struct {
	Items []Item[WorkDone] `json:"items"`
}

// WorkLease names work that a worker holds; of work that is not in the queue it has
// no token.
type WorkLease struct {
	LeaseToken recoup.ID `json:"lease_token,omitzero"`
}

// NewCheckpoint is the output of a finished stage.
type NewCheckpoint struct {
	LeaseToken recoup.ID `json:"lease_token,omitzero" doc:"of work that was claimed"`
	Output     []byte    `json:"output,omitempty" doc:"base64, at most 1 MiB; kept encrypted"`
}

// WorkProgress is how far a piece of work has come.
type WorkProgress struct {
	Outputs map[string][]byte `json:"outputs" doc:"of the stages that are finished, in base64"`
	Restart int               `json:"restart,omitempty" doc:"not zero: it was begun anew on purpose, and its effects are wanted once more"`
}

// NewPause keeps work from being claimed: of a pipeline, a stage, an error class, or
// of all that it names together.
type NewPause struct {
	Pipeline string    `json:"pipeline,omitempty"`
	Stage    string    `json:"stage,omitempty"`
	Class    string    `json:"error_class,omitempty" doc:"of the dead letters that are replayed"`
	All      bool      `json:"all,omitempty" doc:"nothing is named, and all work is meant"`
	Reason   string    `json:"reason" maxLength:"4000"`
	Until    time.Time `json:"until,omitzero" doc:"default: until it is lifted"`
}

// WorkPause is a pause that holds.
type WorkPause struct {
	Pipeline string      `json:"pipeline,omitempty"`
	Stage    string      `json:"stage,omitempty"`
	Class    recoup.Code `json:"error_class,omitempty"`
	By       string      `json:"by"`
	Reason   string      `json:"reason"`
	At       time.Time   `json:"at"`
	Until    time.Time   `json:"until,omitzero"`
}

// WorkPauses is what is paused, oldest first.
type WorkPauses struct {
	Pauses []WorkPause `json:"pauses"`
}

// Submit puts work into the queue, at most 1000. Each is answered for itself.
func (c *Client) Submit(ctx context.Context, work []NewWork, options ...CallOption) ([]Item[Work], error) {
	r := request{method: http.MethodPost, path: "/v1/work", body: NewWorkBatch{work}, safety: keyed}
	answer, err := call[WorkBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(work))
}

// ClaimWork leases work, and waits for some if it is asked to. It may come back
// empty. If its answer is lost, what it leased can be claimed again when the leases
// end. [StageWorker] does all of this by itself.
func (c *Client) ClaimWork(ctx context.Context, claim WorkClaim, options ...CallOption) ([]Work, error) {
	r := request{method: http.MethodPost, path: "/v1/work/claim", body: claim, wait: time.Duration(claim.WaitSeconds) * time.Second}
	answer, err := call[WorkClaimed](ctx, c, r, options)
	return answer.Work, err
}

// WorkResults tells what became of work, at most 1000. Each is answered for itself.
func (c *Client) WorkResults(ctx context.Context, results []WorkResult, options ...CallOption) ([]Item[WorkDone], error) {
	r := request{method: http.MethodPost, path: "/v1/work/results", body: WorkResultBatch{results}, safety: keyed}
	answer, err := call[WorkDoneBatch](ctx, c, r, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(results))
}

// WorkResult tells what became of one piece of work.
func (c *Client) WorkResult(ctx context.Context, result WorkResult, options ...CallOption) (WorkDone, error) {
	r := request{method: http.MethodPost, path: "/v1/work/" + result.WorkID.String() + "/" + result.Outcome, safety: keyed}
	if result.Outcome == Extended {
		r.safety = harmless
	}
	result.WorkID, result.Outcome = recoup.ID{}, ""
	r.body = result
	return call[WorkDone](ctx, c, r, options)
}

// Progress returns the outputs of the stages that are finished.
func (c *Client) Progress(ctx context.Context, work, token recoup.ID, options ...CallOption) (WorkProgress, error) {
	r := request{method: http.MethodPost, path: "/v1/work/" + work.String() + "/progress", body: WorkLease{token}}
	return call[WorkProgress](ctx, c, r, options)
}

// SaveCheckpoint keeps the output of a stage. When it returns nil the output
// survives whatever happens.
func (c *Client) SaveCheckpoint(ctx context.Context, work recoup.ID, stage string, n NewCheckpoint, options ...CallOption) error {
	r := request{method: http.MethodPut, path: "/v1/work/" + work.String() + "/checkpoints/" + url.PathEscape(stage), body: n}
	_, err := call[struct{}](ctx, c, r, options)
	return err
}

// ForgetCheckpoints drops the outputs of all stages of a piece of work.
func (c *Client) ForgetCheckpoints(ctx context.Context, work, token recoup.ID, options ...CallOption) error {
	r := request{method: http.MethodPost, path: "/v1/work/" + work.String() + "/forget", body: WorkLease{token}}
	_, err := call[struct{}](ctx, c, r, options)
	return err
}

// PauseWork keeps work from being claimed, in place of an earlier pause of the
// same.
func (c *Client) PauseWork(ctx context.Context, p NewPause, options ...CallOption) (WorkPause, error) {
	return call[WorkPause](ctx, c, request{method: http.MethodPost, path: "/v1/pauses", body: p}, options)
}

// UnpauseWork ends the pause of just this pipeline, stage and class.
func (c *Client) UnpauseWork(ctx context.Context, p NewPause, options ...CallOption) error {
	q := query{}.text("pipeline", p.Pipeline).text("stage", p.Stage).text("error_class", p.Class).text("reason", p.Reason)
	_, err := call[struct{}](ctx, c, request{method: http.MethodDelete, path: "/v1/pauses", query: q.values()}, options)
	return err
}

// WorkPauses lists what is paused, oldest first.
func (c *Client) WorkPauses(ctx context.Context, options ...CallOption) ([]WorkPause, error) {
	answer, err := get[WorkPauses](ctx, c, "/v1/pauses", nil, options)
	return answer.Pauses, err
}
