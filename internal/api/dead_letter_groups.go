package api

import (
	"recoup"
	"recoup/client"
	"recoup/internal/deadletter"
	"recoup/internal/store"
)

type groupsIn struct {
	Pipeline string `query:"pipeline"`
	page
}

func (a *API) listGroups(c *call, in *groupsIn) (client.DeadLetterGroupPage, error) {
	at, err := in.read()
	if err != nil {
		return client.DeadLetterGroupPage{}, err
	}
	groups, cursor, err := a.Letters.Groups(c.r.Context(), c.caller, in.Pipeline, at)
	return client.DeadLetterGroupPage{Groups: each(groups, groupOf), Next: next(cursor)}, err
}

func groupOf(g store.Group) client.DeadLetterGroup { return client.DeadLetterGroup(g) }

func (a *API) showGroup(c *call, in *idIn) (client.DeadLetterGroupDetails, error) {
	d, err := a.Letters.Group(c.r.Context(), c.caller, in.ID)
	return client.DeadLetterGroupDetails{
		DeadLetterGroup: groupOf(d.Group), Notes: each(d.Notes, noteOf),
		Days: each(d.Days, func(n store.DayCount) client.DayCount { return client.DayCount(n) }),
	}, err
}

type groupNoteIn struct {
	idIn
	Body client.GroupNote
}

func (a *API) noteGroup(c *call, in *groupNoteIn) (client.DeadLetterGroup, error) {
	g, err := a.Letters.NoteGroup(c.r.Context(), c.caller, in.ID, in.Body.Owner, in.Body.Note)
	return groupOf(g), err
}

type (
	groupTriageIn struct {
		idIn
		Body client.GroupTriage
	}
	groupRemediateIn struct {
		idIn
		Body client.GroupRemediation
	}
	groupValidateIn struct {
		idIn
		Body client.GroupValidation
	}
	groupVerifyIn struct {
		idIn
		Body client.GroupVerification
	}
)

func (a *API) triageGroup(c *call, in *groupTriageIn) (client.BulkResult, error) {
	step, err := a.triageOf(in.Body.Triage)
	if err != nil {
		return client.BulkResult{}, err
	}
	return a.takeGroup(c, in.ID, step, in.Body.ForGroup)
}

func (a *API) remediateGroup(c *call, in *groupRemediateIn) (client.BulkResult, error) {
	return a.takeGroup(c, in.ID, remediationOf(in.Body.Remediation), in.Body.ForGroup)
}

func (a *API) validateGroup(c *call, in *groupValidateIn) (client.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Validation(in.Body.Validation), in.Body.ForGroup)
}

func (a *API) verifyGroup(c *call, in *groupVerifyIn) (client.BulkResult, error) {
	return a.takeGroup(c, in.ID, verificationOf(in.Body.Verification), in.Body.ForGroup)
}

func (a *API) takeGroup(c *call, id recoup.ID, step deadletter.Step, how client.ForGroup) (client.BulkResult, error) {
	r, err := a.Letters.TakeGroup(c.r.Context(), c.caller, id, deadletter.GroupAct{Step: step, Preview: how.Preview, Token: how.Token})
	if err != nil && r.Applied+r.NotDone > 0 {
		return client.BulkResult{}, cutShort(err, map[string]any{"matched": r.Matched, "applied": r.Applied, "not_done": r.NotDone})
	}
	return client.BulkResult{
		Preview: how.Preview, Matched: r.Matched, Applied: r.Applied, NotDone: r.NotDone, Refused: each(r.Refused, refusedOf), Token: r.Frozen.Token(),
	}, err
}

func refusedOf(r deadletter.Refused) client.Refused {
	return client.Refused{ID: r.ID, Reason: publicReason(r.Err)}
}
