package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

type groupsIn struct {
	Pipeline string `query:"pipeline" doc:"only this pipeline"`
	Days     bool   `query:"days" doc:"with what they gained on each day"`
	httpapi.Page
}

func (a *API) listGroups(c *httpapi.Call, in *groupsIn) (recoup.DeadLetterGroupPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.DeadLetterGroupPage{}, err
	}
	groups, cursor, err := a.Letters.Groups(c.Context(), c.Caller, in.Pipeline, at)
	out := recoup.DeadLetterGroupPage{Groups: httpapi.Listed(groups), Next: httpapi.NextCursor(cursor)}
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

func (a *API) showGroup(c *httpapi.Call, in *httpapi.IDParam) (recoup.DeadLetterGroupDetails, error) {
	d, err := a.Letters.Group(c.Context(), c.Caller, in.ID)
	d.Days, d.Notes = httpapi.Listed(d.Days), httpapi.Listed(d.Notes)
	return d, err
}

type groupNoteIn struct {
	httpapi.IDParam
	Body recoup.GroupNote
}

func (a *API) noteGroup(c *httpapi.Call, in *groupNoteIn) (recoup.DeadLetterGroup, error) {
	return a.Letters.NoteGroup(c.Context(), c.Caller, in.ID, in.Body.Owner, in.Body.Note)
}

type (
	groupTriageIn struct {
		httpapi.IDParam
		Body recoup.GroupTriage
	}
	groupRemediateIn struct {
		httpapi.IDParam
		Body recoup.GroupRemediation
	}
	groupValidateIn struct {
		httpapi.IDParam
		Body recoup.GroupValidation
	}
	groupVerifyIn struct {
		httpapi.IDParam
		Body recoup.GroupVerification
	}
)

func (a *API) triageGroup(c *httpapi.Call, in *groupTriageIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Triage(in.Body.Triage), in.Body.ForGroup)
}

func (a *API) remediateGroup(c *httpapi.Call, in *groupRemediateIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Remediation(in.Body.Remediation), in.Body.ForGroup)
}

func (a *API) validateGroup(c *httpapi.Call, in *groupValidateIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Validation(in.Body.Validation), in.Body.ForGroup)
}

func (a *API) verifyGroup(c *httpapi.Call, in *groupVerifyIn) (recoup.BulkResult, error) {
	return a.takeGroup(c, in.ID, deadletter.Verification(in.Body.Verification), in.Body.ForGroup)
}

func (a *API) takeGroup(c *httpapi.Call, id recoup.ID, action deadletter.Action, how recoup.ForGroup) (recoup.BulkResult, error) {
	return a.bulk(c, how.Preview, func() (recoup.BulkResult, error) {
		return a.Letters.TakeGroup(c.Context(), c.Caller, id, action, how)
	})
}
