package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
)

type groupsIn struct {
	Pipeline string `query:"pipeline" doc:"only this pipeline"`
	Days     bool   `query:"days" doc:"with what they gained on each day"`
	page
}

func (a *API) listGroups(c *call, in *groupsIn) (client.DeadLetterGroupPage, error) {
	at, err := in.read()
	if err != nil {
		return client.DeadLetterGroupPage{}, err
	}
	groups, cursor, err := a.Letters.Groups(c.Context(), c.caller, in.Pipeline, at)
	out := client.DeadLetterGroupPage{Groups: listed(groups), Next: next(cursor)}
	if err != nil || !in.Days {
		return out, err
	}
	ids := make([]recoup.ID, len(groups))
	for i := range groups {
		ids[i] = groups[i].ID
	}
	out.Days, err = a.Letters.GroupDays(c.Context(), ids)
	return out, err
}

func (a *API) showGroup(c *call, in *idIn) (recoup.DeadLetterGroupDetails, error) {
	d, err := a.Letters.Group(c.Context(), c.caller, in.ID)
	d.Days, d.Notes = listed(d.Days), listed(d.Notes)
	return d, err
}

type groupNoteIn struct {
	idIn
	Body client.GroupNote
}

func (a *API) noteGroup(c *call, in *groupNoteIn) (recoup.DeadLetterGroup, error) {
	return a.Letters.NoteGroup(c.Context(), c.caller, in.ID, in.Body.Owner, in.Body.Note)
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

func (a *API) triageGroup(c *call, in *groupTriageIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Triage(in.Body.Triage), in.Body.ForGroup)
}

func (a *API) remediateGroup(c *call, in *groupRemediateIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Remediation(in.Body.Remediation), in.Body.ForGroup)
}

func (a *API) validateGroup(c *call, in *groupValidateIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Validation(in.Body.Validation), in.Body.ForGroup)
}

func (a *API) verifyGroup(c *call, in *groupVerifyIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Verification(in.Body.Verification), in.Body.ForGroup)
}

func (a *API) takeGroup(c *call, id recoup.ID, action deadletter.Action, how recoup.ForGroup) (recoup.BulkResult, error) {
	return a.bulk(c, how.Preview, func() (recoup.BulkResult, error) {
		return a.Letters.TakeGroup(c.Context(), c.caller, id, action, how)
	})
}
