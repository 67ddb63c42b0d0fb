package api

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/deadletter"
	"recoup/internal/store"
)

// queueRoutes are about work that waits for workers, or that one has.
func queueRoutes() []*route {
	list := []*route{
		checked(operation(post, "/v1/work", "Submit work in bulk; items succeed or fail independently", (*API).submitWork), (*API).checkSubmissions).answers(http.StatusCreated).takesUpTo(batchBody).by(Ingest, Worker, Operator).repeats(keyed),
		checked(operation(post, "/v1/work/claim", "Lease work, new or replayed, and wait for some", (*API).claimWork), (*API).checkWorkClaim).by(Worker).under(waiting).repeats(twice),
		checked(operation(post, "/v1/work/results", "Submit results of work in bulk; items succeed or fail independently", (*API).workResults), (*API).checkWorkResults).takesUpTo(batchBody).by(Worker).repeats(keyed),
		operation(post, "/v1/work/{id}/progress", "Get the outputs of the stages that are finished", (*API).workProgress).by(Worker),
		checked(operation(put, "/v1/work/{id}/checkpoints/{stage}", "Keep the output of a finished stage", (*API).saveCheckpoint), (*API).checkCheckpoint).takesUpTo(checkpointBody).by(Worker),
		operation(post, "/v1/work/{id}/forget", "Drop the outputs of all stages", (*API).forgetCheckpoints).by(Worker),
		operation(get, "/v1/pauses", "List what is paused, oldest first", (*API).listPauses).by(readers()...).under(vital),
		checked(operation(post, "/v1/pauses", "Keep work from being claimed: of a pipeline, a stage or an error class", (*API).addPause), (*API).checkPause).by(Operator).under(vital),
		checked(operation(del, "/v1/pauses", "Let it be claimed again", (*API).liftPause), (*API).checkUnpause).by(Operator).under(vital),
	}
	for _, verb := range [][2]string{
		{deadletter.Succeeded, "The work is done"},
		{deadletter.Failed, "The work failed for good: it is a dead letter"},
		{deadletter.Extended, "Prolong a lease"},
		{deadletter.Released, "Give work back unfinished, through no fault of its own"},
	} {
		outcome, summary := verb[0], verb[1]
		rt := checked(operation(post, "/v1/work/{id}/"+outcome, summary, func(a *API, c *call, in *workResultIn) (client.WorkDone, error) {
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

// workOf is work as everybody may see it.
func workOf(q *store.QueuedWork) client.Work {
	return client.Work{
		WorkID: q.WorkID, Pipeline: q.Pipeline, Stage: q.Stage, Class: q.Class, ReplayID: q.ReplayID, ErrorID: q.ErrorID,
		PayloadRef: q.PayloadRef, PayloadHash: q.PayloadHash, CreatedAt: q.CreatedAt, DueAt: q.DueAt,
		LeasedAt: q.LeasedAt, LeaseEndsAt: q.LeaseEndsAt, Claims: q.Claims, Lapses: q.Lapses,
	}
}

type submitIn struct{ Body client.NewWorkBatch }

// newWorkRules are the rules of one piece of work among many.
var newWorkRules = rulesOf(reflect.TypeFor[client.NewWork]())

func submissionOf(w *client.NewWork) deadletter.Submission {
	return deadletter.Submission{
		WorkID: w.WorkID, Pipeline: w.Pipeline, Stage: w.Stage, PayloadRef: w.PayloadRef, PayloadHash: w.PayloadHash, Payload: w.Payload,
		Delay: seconds(w.DelaySeconds),
	}
}

func (a *API) submitWork(c *call, in *submitIn) (client.WorkBatch, error) {
	answer := client.WorkBatch{Items: make([]client.Item[client.Work], len(in.Body.Work))}
	var subs []deadletter.Submission
	var place []int
	for i := range in.Body.Work {
		w := &in.Body.Work[i]
		receipt, err := c.letterReceipt(i)
		if err != nil {
			return client.WorkBatch{}, err
		}
		err = checkRules(newWorkRules, reflect.ValueOf(*w))
		if err == nil {
			err = a.checkLane(c, w.Pipeline, w.Stage)
		} else {
			err = checkWhole(newWorkRules, w, checkNewWork)
		}
		if err != nil {
			answer.Items[i].Failure = a.embed(c, err)
			continue
		}
		sub := submissionOf(w)
		sub.Receipt = receipt
		subs, place = append(subs, sub), append(place, i)
	}
	done, err := a.Letters.Submit(c.r.Context(), c.caller, subs)
	if err != nil {
		return client.WorkBatch{}, err
	}
	for k := range done {
		item := &answer.Items[place[k]]
		if done[k].Err != nil {
			item.Failure = a.embed(c, done[k].Err)
			continue
		}
		work := workOf(&done[k].Letter.Queued)
		work.Repeated = done[k].Repeated
		item.Result = &work
	}
	return answer, nil
}

type claimWorkIn struct{ Body client.WorkClaim }

func (in *claimWorkIn) order() deadletter.Claim {
	return deadletter.Claim{
		Lanes:  each(in.Body.Lanes, func(l client.Lane) store.Lane { return store.Lane(l) }),
		Worker: in.Body.Worker, Limit: cmp.Or(in.Body.Limit, 10), Lease: seconds(in.Body.LeaseSeconds), Wait: seconds(in.Body.WaitSeconds),
	}
}

func (a *API) claimWork(c *call, in *claimWorkIn) (client.WorkClaimed, error) {
	claimed, err := poll(a, c, func(ctx context.Context) ([]deadletter.Claimed, error) {
		return a.Letters.Claim(ctx, c.caller, in.order())
	})
	return client.WorkClaimed{Work: each(claimed, func(w deadletter.Claimed) client.Work { return ClaimedWork(&w) })}, err
}

type workResultIn struct {
	idIn
	Body client.WorkResult
}

func (a *API) workResult(c *call, in *workResultIn, outcome string) (client.WorkDone, error) {
	r := in.Body
	r.WorkID, r.Outcome = in.ID, outcome
	result, err := workResultOf(c, &r, 0)
	if err != nil {
		return client.WorkDone{}, err
	}
	done, err := a.Letters.Results(c.r.Context(), c.caller, []deadletter.Result{result})
	if err != nil {
		return client.WorkDone{}, err
	}
	return workDone(&done[0], &r), done[0].Err
}

// workResultOf turns the i-th result of a request into the service's.
func workResultOf(c *call, r *client.WorkResult, i int) (deadletter.Result, error) {
	receipt, err := c.letterReceipt(i)
	if err != nil {
		return deadletter.Result{}, err
	}
	out, err := WorkResult(r)
	out.Receipt = receipt
	return out, err
}

// workDone is the answer to a result. A worker keeps the token that it has sent.
func workDone(done *deadletter.Done, r *client.WorkResult) client.WorkDone {
	out := client.WorkDone{Repeated: done.Repeated}
	if q := &done.Letter.Queued; !q.WorkID.IsZero() {
		work := workOf(q)
		if r.Outcome == deadletter.Extended {
			work.LeaseToken = r.LeaseToken
		}
		out.Work = &work
	}
	if !done.Letter.Dead.ErrorID.IsZero() {
		letter := deadletter.Public(&done.Letter)
		out.DeadLetter = &letter
	}
	return out
}

type workResultsIn struct{ Body client.WorkResultBatch }

// workResultRules are the rules of one result among many.
var workResultRules = rulesOf(reflect.TypeFor[client.WorkResult]())

func (a *API) workResults(c *call, in *workResultsIn) (client.WorkDoneBatch, error) {
	answer := client.WorkDoneBatch{Items: make([]client.Item[client.WorkDone], len(in.Body.Results))}
	var results []deadletter.Result
	var place []int
	for i := range in.Body.Results {
		r := &in.Body.Results[i]
		err := checkRules(workResultRules, reflect.ValueOf(*r))
		var result deadletter.Result
		if err == nil {
			result, err = workResultOf(c, r, i)
		} else {
			err = checkWhole(workResultRules, r, a.checkWorkResult)
		}
		if err != nil {
			answer.Items[i].Failure = a.embed(c, err)
			continue
		}
		results, place = append(results, result), append(place, i)
	}
	done, err := a.Letters.Results(c.r.Context(), c.caller, results)
	if err != nil {
		return client.WorkDoneBatch{}, err
	}
	for k := range done {
		i := place[k]
		if done[k].Err != nil {
			answer.Items[i].Failure = a.embed(c, done[k].Err)
			continue
		}
		out := workDone(&done[k], &in.Body.Results[i])
		answer.Items[i].Result = &out
	}
	return answer, nil
}

type leaseIn struct {
	idIn
	Body client.WorkLease
}

// sent refuses a body of null where every member may be left out: it would pass
// for an empty object.
func (c *call) sent() error {
	if bytes.Equal(bytes.TrimSpace(c.body), []byte("null")) {
		return fault.New(fault.CodeMalformedJSON, "The body must be a JSON object, not null.")
	}
	return nil
}

func (a *API) workProgress(c *call, in *leaseIn) (client.WorkProgress, error) {
	if err := c.sent(); err != nil {
		return client.WorkProgress{}, err
	}
	p, err := a.Letters.Progress(c.r.Context(), c.caller, in.ID, in.Body.LeaseToken)
	return client.WorkProgress(p), err
}

type checkpointIn struct {
	idIn
	Stage string `path:"stage"`
	Body  client.NewCheckpoint
}

func (a *API) saveCheckpoint(c *call, in *checkpointIn) (Acknowledged, error) {
	if err := c.sent(); err != nil {
		return Acknowledged{}, err
	}
	return Acknowledged{}, a.Letters.SaveCheckpoint(c.r.Context(), c.caller, in.ID, in.Body.LeaseToken, in.Stage, in.Body.Output)
}

func (a *API) forgetCheckpoints(c *call, in *leaseIn) (Acknowledged, error) {
	if err := c.sent(); err != nil {
		return Acknowledged{}, err
	}
	return Acknowledged{}, a.Letters.Forget(c.r.Context(), c.caller, in.ID, in.Body.LeaseToken)
}

func (a *API) listPauses(c *call, _ *struct{}) (client.WorkPauses, error) {
	pauses, err := a.Letters.Pauses(c.r.Context(), c.caller)
	return client.WorkPauses{Pauses: each(pauses, func(p store.Pause) client.WorkPause { return client.WorkPause(p) })}, err
}

type pauseIn struct{ Body client.NewPause }

func pauseOf(b *client.NewPause) store.Pause {
	return store.Pause{Pipeline: b.Pipeline, Stage: b.Stage, Class: recoup.Code(b.Class), Reason: b.Reason, Until: b.Until.In(time.UTC)}
}

func (a *API) addPause(c *call, in *pauseIn) (client.WorkPause, error) {
	p, err := a.Letters.Pause(c.r.Context(), c.caller, pauseOf(&in.Body), in.Body.All)
	return client.WorkPause(p), err
}

type unpauseIn struct {
	Pipeline string `query:"pipeline"`
	Stage    string `query:"stage"`
	Class    string `query:"error_class"`
	Reason   string `query:"reason"`
}

func (in *unpauseIn) pause() store.Pause {
	return store.Pause{Pipeline: in.Pipeline, Stage: in.Stage, Class: recoup.Code(in.Class)}
}

func (a *API) liftPause(c *call, in *unpauseIn) (Acknowledged, error) {
	return Acknowledged{}, a.Letters.Unpause(c.r.Context(), c.caller, in.pause(), in.Reason)
}
