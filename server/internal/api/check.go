package api

import (
	"cmp"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/recovery"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What the operations find wrong with their requests, without doing anything: see
// [route].

// reasonOf is the check of an operation whose reason goes into the audit.
func reasonOf[In any](reason func(*In) string) func(*API, *call, *In) error {
	return func(_ *API, _ *call, in *In) error { return check.Reason(reason(in)) }
}

// why is [reasonOf] of a body that is a reason.
func why() func(*API, *call, *whyIn) error {
	return reasonOf(func(in *whyIn) string { return in.Body.Reason })
}

// neededReason is the check of an operation that must be given a reason.
func neededReason[In any](reason func(*In) string) func(*API, *call, *In) error {
	return func(_ *API, _ *call, in *In) error { return deadletter.CheckReason(reason(in)) }
}

func (a *API) checkClaim(c *call, in *claimIn) error {
	_, err := a.Engine.CheckClaim(c.caller, in.Body)
	return err
}

func (a *API) checkResults(c *call, in *resultsIn) error {
	return eachItem(c.Context(), "results", in.Body.Results, resultRules, a.checkRetryResult)
}

func (a *API) checkRetryResult(r *client.Result) error {
	_, err := a.inputOf(*r)
	return err
}

func (a *API) checkPromotion(_ *call, in *promoteIn) error {
	return a.Engine.CheckPromotion(in.Body)
}

func (a *API) checkCounts(c *call, in *processedIn) error {
	return eachItem(c.Context(), "counts", in.Body.Counts, nil, func(p *client.Processed) error { return a.checkProcessed(c, processedOf(c, p)) })
}

func (a *API) checkPlan(_ *call, in *planIn) error {
	return a.Registrar.CheckPolicy([]byte(in.Body.Text))
}

func (a *API) checkPolicy(_ *call, in *putPolicyIn) error {
	var bad fault.FieldErrors
	bad.Merge(a.Registrar.CheckPolicy([]byte(in.Body.Text)))
	bad.Merge(check.Reason(in.Body.Reason))
	return bad.Err()
}

func (a *API) checkTriage(c *call, in *triageIn) error {
	return a.Letters.CheckAction(c.Context(), c.caller, in.ID, deadletter.Triage(in.Body))
}

func (a *API) checkRemediation(c *call, in *remediateIn) error {
	return a.Letters.CheckAction(c.Context(), c.caller, in.ID, deadletter.Remediation(in.Body))
}

func (a *API) checkValidation(c *call, in *validateIn) error {
	return a.Letters.CheckAction(c.Context(), c.caller, in.ID, deadletter.Validation(in.Body))
}

func (a *API) checkVerification(c *call, in *verifyIn) error {
	return a.Letters.CheckAction(c.Context(), c.caller, in.ID, deadletter.Verification(in.Body))
}

func (a *API) checkGroupTriage(c *call, in *groupTriageIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.caller, in.ID, deadletter.Triage(in.Body.Triage))
}

func (a *API) checkGroupRemediation(c *call, in *groupRemediateIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.caller, in.ID, deadletter.Remediation(in.Body.Remediation))
}

func (a *API) checkGroupValidation(c *call, in *groupValidateIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.caller, in.ID, deadletter.Validation(in.Body.Validation))
}

func (a *API) checkGroupVerification(c *call, in *groupVerifyIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.caller, in.ID, deadletter.Verification(in.Body.Verification))
}

func (a *API) checkGroupNote(_ *call, in *groupNoteIn) error {
	return deadletter.CheckGroupNote(in.Body.Owner, in.Body.Note)
}

func (a *API) checkSingleReplay(_ *call, in *replayLetterIn) error {
	return a.Letters.CheckReplay(in.replay())
}

func (a *API) checkSubmissions(c *call, in *submitIn) error {
	return eachItem(c.Context(), "work", in.Body.Work, newWorkRules, deadletter.CheckSubmission)
}

func (a *API) checkWorkClaim(_ *call, in *claimWorkIn) error {
	return deadletter.CheckClaim(in.Body)
}

func (a *API) checkWorkResults(c *call, in *workResultsIn) error {
	return eachItem(c.Context(), "results", in.Body.Results, workResultRules, a.Letters.CheckResult)
}

// checkOneWorkResult is the check of a result whose outcome its path names.
func checkOneWorkResult(outcome string) func(*API, *call, *workResultIn) error {
	return func(a *API, _ *call, in *workResultIn) error { return a.Letters.CheckResult(in.of(outcome)) }
}

func (a *API) checkCheckpoint(_ *call, in *checkpointIn) error {
	return deadletter.CheckCheckpoint(in.Stage, in.Body.Output)
}

func (a *API) checkPause(c *call, in *pauseIn) error {
	p := in.Body
	return a.Letters.CheckPause(c.caller, &p)
}

func (a *API) checkUnpause(c *call, in *unpauseIn) error {
	p, reason := in.PauseScope, in.Reason
	return a.Letters.CheckUnpause(c.caller, &p, &reason)
}

func (a *API) checkBatch(_ *call, in *newBatchIn) error { return recovery.CheckBatch(in.Body.ID) }

func (a *API) checkGateClaim(_ *call, in *gateClaimIn) error { return recovery.CheckClaim(in.Body) }

func (a *API) checkGateResults(c *call, in *gateResultsIn) error {
	return eachItem(c.Context(), "results", in.Body.Results, gateResultRules, func(r *recoup.GateZeroResult) error { return a.checkGateResult(c, r) })
}

func (a *API) checkGateResult(c *call, r *recoup.GateZeroResult) error {
	result := verified(c, *r)
	return a.GateZero.CheckResult(&result)
}

// processedOf is a count of work as it is kept.
func processedOf(c *call, p *client.Processed) store.Processed {
	minute := p.Minute
	if minute.IsZero() {
		minute = c.now
	}
	return store.Processed{
		Minute: store.Minute(minute), Table: p.Table, Service: p.Service, N: p.Count, Failed: p.Failed,
		Duration: milliseconds(p.DurationMS), FailedDuration: milliseconds(p.FailedDurationMS),
	}
}

// verified is a result of a verification; its worker is the caller, unless it says
// otherwise.
func verified(c *call, r recoup.GateZeroResult) recoup.GateZeroResult {
	r.Worker = cmp.Or(r.Worker, c.caller.Name)
	return r
}
