package api

import (
	"bytes"
	"context"
	"net/http"
	"reflect"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
)

// queueRoutes are about work that waits for workers, or that one has.
func queueRoutes() []*route {
	list := []*route{
		checked(operation(post, "/v1/work", "Submit work in bulk; items succeed or fail independently", (*API).submitWork), (*API).checkSubmissions).answers(http.StatusCreated).takesUpTo(batchBody).by(Ingest, Worker, Operator).repeats(keyed),
		checked(operation(post, "/v1/work/claim", "Claim work, new or replayed, or wait until there is some", (*API).claimWork), (*API).checkWorkClaim).by(Worker).under(waiting).repeats(notIdempotent),
		checked(operation(post, "/v1/work/results", "Submit results of work in bulk; items succeed or fail independently", (*API).workResults), (*API).checkWorkResults).takesUpTo(batchBody).by(Worker).repeats(keyed),
		operation(post, "/v1/work/{id}/progress", "Get the outputs of finished stages", (*API).workProgress).by(Worker),
		checked(operation(put, "/v1/work/{id}/checkpoints/{stage}", "Keep the output of a finished stage", (*API).saveCheckpoint), (*API).checkCheckpoint).takesUpTo(checkpointBody).by(Worker),
		operation(post, "/v1/work/{id}/forget", "Drop the outputs of all stages", (*API).forgetCheckpoints).by(Worker),
		operation(get, "/v1/pauses", "List what is paused, oldest first", (*API).listPauses).by(readers()...).under(priority),
		checked(operation(post, "/v1/pauses", "Pause work of a pipeline, a stage or an error class", (*API).addPause), (*API).checkPause).by(Operator).under(priority),
		checked(operation(del, "/v1/pauses", "Lift a pause", (*API).liftPause), (*API).checkUnpause).by(Operator).under(priority),
	}
	for _, verb := range [][2]string{
		{deadletter.Succeeded, "Report work that succeeded"},
		{deadletter.Failed, "Report a stage that failed: it is retried, or becomes a dead letter"},
		{deadletter.Extended, "Extend a lease"},
		{deadletter.Released, "Release work unfinished"},
	} {
		outcome, summary := verb[0], verb[1]
		rt := checked(operation(post, "/v1/work/{id}/"+outcome, summary, func(a *API, c *call, in *workResultIn) (recoup.WorkDone, error) {
			return a.workResult(c, in, outcome)
		}), checkOneWorkResult(outcome)).takesUpTo(letterBody).by(Worker).repeats(keyed)
		if outcome == deadletter.Failed {
			rt.demands("failure")
		}
		list = append(list, rt)
	}
	for _, rt := range list {
		rt.tagged("work")
	}
	return list
}

// Acknowledged is the answer where there is nothing to say but that it is done.
type Acknowledged struct{}

// checkpointBody is room for the output of a stage in base64.
const checkpointBody = 2 << 20

type submitIn struct{ Body client.NewWorkBatch }

// newWorkRules are the rules of one piece of work among many.
var newWorkRules = rulesOf(reflect.TypeFor[recoup.NewWork]())

func (a *API) submitWork(c *call, in *submitIn) (client.WorkBatch, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return client.WorkBatch{}, err
	}
	var place []int
	items, err := answerItems(c, len(in.Body.Work), func(i int) (recoup.NewWork, error) {
		w := &in.Body.Work[i]
		err := checkItemRules(newWorkRules, w, deadletter.CheckSubmission)
		if err == nil {
			err = checkLane(c, w.Pipeline, w.Stage)
		}
		if err == nil {
			place = append(place, i)
		}
		return *w, err
	}, func(ctx context.Context, list []recoup.NewWork) ([]deadletter.Done, error) {
		return a.Letters.Submit(ctx, c.caller, list, receipts.At(place))
	}, func(_ int, done *deadletter.Done) (*recoup.Work, error) {
		work := done.Work()
		return &work, done.Err
	})
	return client.WorkBatch{Items: items}, err
}

type claimWorkIn struct{ Body recoup.WorkClaim }

func (a *API) claimWork(c *call, in *claimWorkIn) (client.WorkClaimed, error) {
	claimed, err := poll(c, func(ctx context.Context) ([]recoup.ClaimedWork, error) {
		return a.Letters.Claim(ctx, c.caller, in.Body)
	})
	return client.WorkClaimed{Work: listed(claimed)}, err
}

type workResultIn struct {
	idIn
	Body recoup.WorkResult
}

// of is the result of an outcome that the path names.
func (in *workResultIn) of(outcome string) *recoup.WorkResult {
	r := in.Body
	r.WorkID, r.Outcome = in.ID, outcome
	return &r
}

func (a *API) workResult(c *call, in *workResultIn, outcome string) (recoup.WorkDone, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return recoup.WorkDone{}, err
	}
	r := in.of(outcome)
	done, err := a.Letters.Results(c.Context(), c.caller, []recoup.WorkResult{*r}, receipts)
	if err != nil {
		return recoup.WorkDone{}, err
	}
	return done[0].Result(r), done[0].Err
}

type workResultsIn struct{ Body client.WorkResultBatch }

// workResultRules are the rules of one result among many.
var workResultRules = rulesOf(reflect.TypeFor[recoup.WorkResult]())

func (a *API) workResults(c *call, in *workResultsIn) (client.WorkDoneBatch, error) {
	receipts, err := letterReceipts(c)
	if err != nil {
		return client.WorkDoneBatch{}, err
	}
	var place []int
	items, err := answerItems(c, len(in.Body.Results), func(i int) (recoup.WorkResult, error) {
		r := &in.Body.Results[i]
		err := checkItemRules(workResultRules, r, a.Letters.CheckResult)
		if err == nil {
			place = append(place, i)
		}
		return *r, err
	}, func(ctx context.Context, results []recoup.WorkResult) ([]deadletter.Done, error) {
		return a.Letters.Results(ctx, c.caller, results, receipts.At(place))
	}, func(i int, done *deadletter.Done) (*recoup.WorkDone, error) {
		out := done.Result(&in.Body.Results[i])
		return &out, done.Err
	})
	return client.WorkDoneBatch{Items: items}, err
}

type leaseIn struct {
	idIn
	Body client.WorkLease
}

// sent refuses a body of null where every member may be left out: it would pass
// for an empty object.
func sent(c *call) error {
	if bytes.Equal(bytes.TrimSpace(c.body), []byte("null")) {
		return fault.New(fault.CodeMalformedJSON, "The body must be a JSON object, not null.")
	}
	return nil
}

func (a *API) workProgress(c *call, in *leaseIn) (recoup.WorkProgress, error) {
	if err := sent(c); err != nil {
		return recoup.WorkProgress{}, err
	}
	return a.Letters.Progress(c.Context(), c.caller, in.ID, in.Body.LeaseToken)
}

type checkpointIn struct {
	idIn
	Stage string `path:"stage" doc:"the stage that is finished"`
	Body  client.NewCheckpoint
}

func (a *API) saveCheckpoint(c *call, in *checkpointIn) (Acknowledged, error) {
	if err := sent(c); err != nil {
		return Acknowledged{}, err
	}
	return Acknowledged{}, a.Letters.SaveCheckpoint(c.Context(), c.caller, in.ID, in.Body.LeaseToken, in.Stage, in.Body.Output)
}

func (a *API) forgetCheckpoints(c *call, in *leaseIn) (Acknowledged, error) {
	if err := sent(c); err != nil {
		return Acknowledged{}, err
	}
	return Acknowledged{}, a.Letters.Forget(c.Context(), c.caller, in.ID, in.Body.LeaseToken)
}

func (a *API) listPauses(c *call, _ *struct{}) (client.WorkPauses, error) {
	pauses, err := a.Letters.Pauses(c.Context(), c.caller)
	return client.WorkPauses{Pauses: listed(pauses)}, err
}

type pauseIn struct{ Body recoup.NewPause }

func (a *API) addPause(c *call, in *pauseIn) (recoup.WorkPause, error) {
	return a.Letters.Pause(c.Context(), c.caller, in.Body)
}

type unpauseIn struct {
	recoup.PauseScope
	Reason string `query:"reason" doc:"why; the audit keeps it"`
}

func (a *API) liftPause(c *call, in *unpauseIn) (Acknowledged, error) {
	return Acknowledged{}, a.Letters.Unpause(c.Context(), c.caller, in.PauseScope, in.Reason)
}

// checkLane refuses a pipeline or a stage that the key may not make up any more:
// work under another name would be claimed by nobody.
func checkLane(c *call, pipeline, stage string) error {
	return c.checkName("lane", pipeline+"\x00"+stage)
}
