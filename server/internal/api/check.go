package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What the operations find wrong with their requests, without doing anything: see
// [httpapi.WithCheck].

// reasonOf is the check of an operation whose reason goes into the audit.
func reasonOf[In any](reason func(*In) string) func(*API, *httpapi.Call, *In) error {
	return func(_ *API, _ *httpapi.Call, in *In) error { return check.Reason(reason(in)) }
}

// why is [reasonOf] of a body that is a reason.
func why() func(*API, *httpapi.Call, *whyIn) error {
	return reasonOf(func(in *whyIn) string { return in.Body.Reason })
}

// neededReason is the check of an operation that must be given a reason.
func neededReason[In any](reason func(*In) string) func(*API, *httpapi.Call, *In) error {
	return func(_ *API, _ *httpapi.Call, in *In) error { return deadletter.CheckReason(reason(in)) }
}

func (a *API) checkClaim(c *httpapi.Call, in *claimIn) error {
	_, err := a.Engine.CheckClaim(c.Caller, in.Body)
	return err
}

func (a *API) checkResults(c *httpapi.Call, in *resultsIn) error {
	return httpapi.CheckItems(c.Context(), "results", in.Body.Results, resultRules, a.checkRetryResult)
}

func (a *API) checkRetryResult(r *recoup.RetryResult) error {
	_, err := a.inputOf(*r)
	return err
}

func (a *API) checkPromotion(_ *httpapi.Call, in *promoteIn) error {
	return a.Engine.CheckPromotion(in.Body)
}

func (a *API) checkCounts(c *httpapi.Call, in *processedIn) error {
	return httpapi.CheckItems(c.Context(), "counts", in.Body.Counts, nil, func(p *recoup.Processed) error { return a.checkProcessed(c, processedOf(c, p)) })
}

func (a *API) checkPlan(_ *httpapi.Call, in *planIn) error {
	return a.Registrar.CheckPolicy([]byte(in.Body.Text))
}

func (a *API) checkPolicy(_ *httpapi.Call, in *putPolicyIn) error {
	var bad fault.FieldErrors
	bad.Merge(a.Registrar.CheckPolicy([]byte(in.Body.Text)))
	bad.Merge(check.Reason(in.Body.Reason))
	return bad.Err()
}

func (a *API) checkTriage(c *httpapi.Call, in *triageIn) error {
	return a.Letters.CheckAction(c.Context(), c.Caller, in.ID, deadletter.Triage(in.Body))
}

func (a *API) checkRemediation(c *httpapi.Call, in *remediateIn) error {
	return a.Letters.CheckAction(c.Context(), c.Caller, in.ID, deadletter.Remediation(in.Body))
}

func (a *API) checkValidation(c *httpapi.Call, in *validateIn) error {
	return a.Letters.CheckAction(c.Context(), c.Caller, in.ID, deadletter.Validation(in.Body))
}

func (a *API) checkVerification(c *httpapi.Call, in *verifyIn) error {
	return a.Letters.CheckAction(c.Context(), c.Caller, in.ID, deadletter.Verification(in.Body))
}

func (a *API) checkGroupTriage(c *httpapi.Call, in *groupTriageIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.Caller, in.ID, deadletter.Triage(in.Body.Triage))
}

func (a *API) checkGroupRemediation(c *httpapi.Call, in *groupRemediateIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.Caller, in.ID, deadletter.Remediation(in.Body.Remediation))
}

func (a *API) checkGroupValidation(c *httpapi.Call, in *groupValidateIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.Caller, in.ID, deadletter.Validation(in.Body.Validation))
}

func (a *API) checkGroupVerification(c *httpapi.Call, in *groupVerifyIn) error {
	return a.Letters.CheckGroupAction(c.Context(), c.Caller, in.ID, deadletter.Verification(in.Body.Verification))
}

func (a *API) checkGroupNote(_ *httpapi.Call, in *groupNoteIn) error {
	return deadletter.CheckGroupNote(in.Body.Owner, in.Body.Note)
}

func (a *API) checkSingleReplay(_ *httpapi.Call, in *replayLetterIn) error {
	return a.Letters.CheckReplay(in.replay())
}

func (a *API) checkSubmissions(c *httpapi.Call, in *submitIn) error {
	return httpapi.CheckItems(c.Context(), "work", in.Body.Work, newWorkRules, deadletter.CheckSubmission)
}

func (a *API) checkWorkClaim(_ *httpapi.Call, in *claimWorkIn) error {
	return deadletter.CheckClaim(in.Body)
}

func (a *API) checkWorkResults(c *httpapi.Call, in *workResultsIn) error {
	return httpapi.CheckItems(c.Context(), "results", in.Body.Results, workResultRules, a.Letters.CheckResult)
}

// checkOneWorkResult is the check of a result whose outcome its path names.
func checkOneWorkResult(outcome string) func(*API, *httpapi.Call, *workResultIn) error {
	return func(a *API, _ *httpapi.Call, in *workResultIn) error { return a.Letters.CheckResult(in.of(outcome)) }
}

func (a *API) checkCheckpoint(_ *httpapi.Call, in *checkpointIn) error {
	return deadletter.CheckCheckpoint(in.Stage, in.Body.Output)
}

func (a *API) checkPause(c *httpapi.Call, in *pauseIn) error {
	p := in.Body
	return a.Letters.CheckPause(c.Caller, &p)
}

func (a *API) checkUnpause(c *httpapi.Call, in *unpauseIn) error {
	p, reason := in.PauseScope, in.Reason
	return a.Letters.CheckUnpause(c.Caller, &p, &reason)
}

// processedOf is a count of work as it is kept.
func processedOf(c *httpapi.Call, p *recoup.Processed) store.Processed {
	minute := p.Minute
	if minute.IsZero() {
		minute = c.Now
	}
	return store.Processed{
		Minute: store.Minute(minute), Table: p.Table, Service: p.Service, N: p.Count, Failed: p.Failed,
		Duration: milliseconds(p.DurationMS), FailedDuration: milliseconds(p.FailedDurationMS),
	}
}
