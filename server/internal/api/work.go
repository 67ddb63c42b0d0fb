package api

import (
	"bytes"
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// queueRoutes are about work that waits for workers, or that one has.
func queueRoutes() []*httpapi.Route {
	list := []*httpapi.Route{
		httpapi.WithCheck(httpapi.Op(post, "/v1/work", "Submit work in bulk; items succeed or fail independently", (*API).submitWork), (*API).checkSubmissions).Status(http.StatusCreated).MaxBody(httpapi.BatchBody).Roles(httpapi.RoleIngest, httpapi.RoleWorker, httpapi.RoleOperator).Repeat(httpapi.RepeatKeyed),
		httpapi.WithCheck(httpapi.Op(post, "/v1/work/claim", "Claim work, new or replayed, or wait until there is some", (*API).claimWork), (*API).checkWorkClaim).Roles(httpapi.RoleWorker).Load(httpapi.LoadWaiting).Repeat(httpapi.RepeatNotIdempotent),
		httpapi.WithCheck(httpapi.Op(post, "/v1/work/results", "Submit results of work in bulk; items succeed or fail independently", (*API).workResults), (*API).checkWorkResults).MaxBody(httpapi.BatchBody).Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatKeyed),
		httpapi.Op(post, "/v1/work/{id}/progress", "Get the outputs of finished stages", (*API).workProgress).Roles(httpapi.RoleWorker),
		httpapi.WithCheck(httpapi.Op(put, "/v1/work/{id}/checkpoints/{stage}", "Keep the output of a finished stage", (*API).saveCheckpoint), (*API).checkCheckpoint).MaxBody(checkpointBody).Roles(httpapi.RoleWorker),
		httpapi.Op(post, "/v1/work/{id}/forget", "Drop the outputs of all stages", (*API).forgetCheckpoints).Roles(httpapi.RoleWorker),
		httpapi.Op(get, "/v1/pauses", "List what is paused, oldest first", (*API).listPauses).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(post, "/v1/pauses", "Pause work of a pipeline, a stage or an error class", (*API).addPause), (*API).checkPause).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority),
		httpapi.WithCheck(httpapi.Op(del, "/v1/pauses", "Lift a pause", (*API).liftPause), (*API).checkUnpause).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority),
	}
	for _, verb := range [][2]string{
		{deadletter.Succeeded, "Report work that succeeded"},
		{deadletter.Failed, "Report a stage that failed: it is retried, or becomes a dead letter"},
		{deadletter.Extended, "Extend a lease"},
		{deadletter.Released, "Release work unfinished"},
	} {
		outcome, summary := verb[0], verb[1]
		rt := httpapi.WithCheck(httpapi.Op(post, "/v1/work/{id}/"+outcome, summary, func(a *API, c *httpapi.Call, in *workResultIn) (recoup.WorkDone, error) {
			return a.workResult(c, in, outcome)
		}), checkOneWorkResult(outcome)).MaxBody(letterBody).Roles(httpapi.RoleWorker).Repeat(httpapi.RepeatKeyed)
		if outcome == deadletter.Failed {
			rt.Require("failure")
		}
		list = append(list, rt)
	}
	for _, rt := range list {
		rt.Tag("work")
	}
	return list
}

// Acknowledged is the answer where there is nothing to say but that it is done.
type Acknowledged struct{}

// checkpointBody is room for the output of a stage in base64.
const checkpointBody = 2 << 20

type submitIn struct{ Body recoup.NewWorkBatch }

// newWorkRules are the rules of one piece of work among many.
var newWorkRules = httpapi.RulesOf[recoup.NewWorkItem]()

func (a *API) submitWork(c *httpapi.Call, in *submitIn) (recoup.WorkBatch, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return recoup.WorkBatch{}, err
	}
	var place []int
	items, err := answerItems(c, len(in.Body.Work), func(i int) (recoup.NewWorkItem, error) {
		w := &in.Body.Work[i]
		err := httpapi.CheckItem(newWorkRules, w, deadletter.CheckSubmission)
		if err == nil {
			err = checkLane(c, w.Pipeline, w.Stage)
		}
		if err == nil {
			place = append(place, i)
		}
		return *w, err
	}, func(ctx context.Context, list []recoup.NewWorkItem) ([]deadletter.Done, error) {
		return a.Letters.Submit(ctx, c.Caller, list, receipts.At(place))
	}, func(_ int, done *deadletter.Done) (*recoup.WorkItem, error) {
		work := done.Work()
		return &work, done.Err
	})
	return recoup.WorkBatch{Items: items}, err
}

type claimWorkIn struct{ Body recoup.WorkClaim }

func (a *API) claimWork(c *httpapi.Call, in *claimWorkIn) (recoup.WorkClaimed, error) {
	claimed, err := httpapi.Poll(c, func(ctx context.Context) ([]recoup.ClaimedWork, error) {
		return a.Letters.Claim(ctx, c.Caller, in.Body)
	})
	return recoup.WorkClaimed{Work: httpapi.Listed(claimed)}, err
}

type workResultIn struct {
	httpapi.IDParam
	Body recoup.WorkResult
}

// of is the result of an outcome that the path names.
func (in *workResultIn) of(outcome string) *recoup.WorkResult {
	r := in.Body
	r.WorkID, r.Outcome = in.ID, outcome
	return &r
}

func (a *API) workResult(c *httpapi.Call, in *workResultIn, outcome string) (recoup.WorkDone, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return recoup.WorkDone{}, err
	}
	r := in.of(outcome)
	done, err := a.Letters.Results(c.Context(), c.Caller, []recoup.WorkResult{*r}, receipts)
	if err != nil {
		return recoup.WorkDone{}, err
	}
	return done[0].Result(r), done[0].Err
}

type workResultsIn struct{ Body recoup.WorkResultBatch }

// workResultRules are the rules of one result among many.
var workResultRules = httpapi.RulesOf[recoup.WorkResult]()

func (a *API) workResults(c *httpapi.Call, in *workResultsIn) (recoup.WorkDoneBatch, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return recoup.WorkDoneBatch{}, err
	}
	var place []int
	items, err := answerItems(c, len(in.Body.Results), func(i int) (recoup.WorkResult, error) {
		r := &in.Body.Results[i]
		err := httpapi.CheckItem(workResultRules, r, a.Letters.CheckResult)
		if err == nil {
			place = append(place, i)
		}
		return *r, err
	}, func(ctx context.Context, results []recoup.WorkResult) ([]deadletter.Done, error) {
		return a.Letters.Results(ctx, c.Caller, results, receipts.At(place))
	}, func(i int, done *deadletter.Done) (*recoup.WorkDone, error) {
		out := done.Result(&in.Body.Results[i])
		return &out, done.Err
	})
	return recoup.WorkDoneBatch{Items: items}, err
}

type leaseIn struct {
	httpapi.IDParam
	Body recoup.WorkLease
}

// sent refuses a body of null where every member may be left out: it would pass
// for an empty object.
func sent(c *httpapi.Call) error {
	if bytes.Equal(bytes.TrimSpace(c.Body), []byte("null")) {
		return fault.New(fault.CodeMalformedJSON, "The body must be a JSON object, not null.")
	}
	return nil
}

func (a *API) workProgress(c *httpapi.Call, in *leaseIn) (recoup.WorkProgress, error) {
	if err := sent(c); err != nil {
		return recoup.WorkProgress{}, err
	}
	return a.Letters.Progress(c.Context(), c.Caller, in.ID, in.Body.LeaseToken)
}

type checkpointIn struct {
	httpapi.IDParam
	Stage string `path:"stage" doc:"the stage that is finished"`
	Body  recoup.NewCheckpoint
}

func (a *API) saveCheckpoint(c *httpapi.Call, in *checkpointIn) (Acknowledged, error) {
	if err := sent(c); err != nil {
		return Acknowledged{}, err
	}
	return Acknowledged{}, a.Letters.SaveCheckpoint(c.Context(), c.Caller, in.ID, in.Body.LeaseToken, in.Stage, in.Body.Output)
}

func (a *API) forgetCheckpoints(c *httpapi.Call, in *leaseIn) (Acknowledged, error) {
	if err := sent(c); err != nil {
		return Acknowledged{}, err
	}
	return Acknowledged{}, a.Letters.Forget(c.Context(), c.Caller, in.ID, in.Body.LeaseToken)
}

func (a *API) listPauses(c *httpapi.Call, _ *struct{}) (recoup.WorkPauses, error) {
	pauses, err := a.Letters.Pauses(c.Context(), c.Caller)
	return recoup.WorkPauses{Pauses: httpapi.Listed(pauses)}, err
}

type pauseIn struct{ Body recoup.NewPause }

func (a *API) addPause(c *httpapi.Call, in *pauseIn) (recoup.WorkPause, error) {
	return a.Letters.Pause(c.Context(), c.Caller, in.Body)
}

type unpauseIn struct {
	recoup.PauseScope
	Reason string `query:"reason" doc:"why; the audit keeps it"`
}

func (a *API) liftPause(c *httpapi.Call, in *unpauseIn) (Acknowledged, error) {
	return Acknowledged{}, a.Letters.Unpause(c.Context(), c.Caller, in.PauseScope, in.Reason)
}

// checkLane refuses a pipeline or a stage that the key may not make up any more:
// work under another name would be claimed by nobody.
func checkLane(c *httpapi.Call, pipeline, stage string) error {
	return c.CheckName("lane", pipeline+"\x00"+stage)
}
