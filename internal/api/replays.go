package api

import (
	"net/http"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/deadletter"
	"recoup/internal/store"
)

// replayRoutes are about operations that send dead letters back to work.
func replayRoutes() []*route {
	list := []*route{
		checked(operation(post, "/v1/replays/preview", "Preview which dead letters a replay would include, and why others are left out", (*API).previewReplay), (*API).checkPreview).by(Operator, Reader).under(vital).takesLong(),
		checked(operation(post, "/v1/replays", "Send dead letters back to work, at a rate and in a ramp: named ones, or those that a preview has shown", (*API).createReplay), (*API).checkReplay).answers(http.StatusCreated).takesUpTo(letterBody).by(Operator).under(vital).takesLong().repeats(twice),
		operation(get, "/v1/replays", "List replays, newest first", (*API).listReplays).by(readers()...).under(vital),
		operation(get, "/v1/replays/{id}", "Show a replay and how far it has come", (*API).showReplay).by(readers()...).under(vital),
		operation(get, "/v1/replays/{id}/items", "List the members of a replay and what became of each", (*API).listReplayItems).by(readers()...).under(vital),
	}
	for _, verb := range [][2]string{
		{deadletter.ActPause, "Keep a replay from releasing more"},
		{deadletter.ActResume, "Let a paused replay go on"},
		{deadletter.ActCancel, "End a replay; what no worker has is as it was before"},
	} {
		act, summary := verb[0], verb[1]
		list = append(list, checked(operation(post, "/v1/replays/{id}/"+act, summary, func(a *API, c *call, in *replayActIn) (client.Replay, error) {
			status, err := a.Letters.ActOnReplay(c.r.Context(), c.caller, in.ID, act, in.Body.Reason)
			return replayOf(status), err
		}), neededReason(func(in *replayActIn) string { return in.Body.Reason })).by(Operator).under(vital))
	}
	return list
}

type replayActIn struct {
	idIn
	Body client.ReplayAct
}

func replayOf(s store.ReplayStatus) client.Replay {
	return client.Replay{
		ID: s.ID, State: string(s.State), Step: deadletter.StepName(&s.Replay), Plan: client.ReplayPlan(s.Plan), Members: s.Members,
		Counts: client.ItemCounts{
			Pending: s.Count(store.ItemPending), Released: s.Count(store.ItemReleased), Succeeded: s.Count(store.ItemSucceeded),
			Failed: s.Count(store.ItemFailed), Repeated: s.Count(store.ItemRepeated),
			Cancelled: s.Count(store.ItemCancelled), Archived: s.Count(store.ItemArchived),
		},
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, Reason: s.Reason, StateAt: s.StateAt, StateBy: s.StateBy, Why: s.Why,
		StartedAt: s.StartedAt, EndedAt: s.EndedAt,
	}
}

func itemOf(i store.ReplayItem) client.ReplayItem {
	return client.ReplayItem{
		ReplayID: i.ReplayID, Position: i.Position, ErrorID: i.ErrorID, WorkID: i.WorkID, Round: i.Round, Stage: i.Stage, State: string(i.State),
		Phase: i.Phase, ReleasedAt: i.ReleasedAt, EndedAt: i.EndedAt, Worker: i.Worker, Class: i.Class, Detail: i.Detail,
	}
}

// selectionOf reads a selection. One whose class is wrong is not empty for that.
func (a *API) selectionOf(s *client.ReplaySelection) (deadletter.Selection, error) {
	class, err := a.classOf(s.Class)
	return deadletter.Selection{
		IDs: s.IDs, Pipeline: s.Pipeline, Stage: s.Stage, Class: class, Group: s.GroupID, After: s.After, Before: s.Before,
		All: s.All || err != nil, FromStart: s.FromStart,
	}, err
}

type replayLetterIn struct {
	idIn
	Body client.SingleReplay
}

func (a *API) replayLetter(c *call, in *replayLetterIn) (client.Replay, error) {
	status, err := a.Letters.Replay(c.r.Context(), c.caller, deadletter.NewReplay{
		Selection: deadletter.Selection{IDs: []recoup.ID{in.ID}, FromStart: in.Body.FromStart}, Reason: in.Body.Reason,
	})
	return replayOf(status), err
}

type replayIn struct{ Body client.NewReplay }

func (a *API) newReplayOf(r *client.NewReplay) (deadletter.NewReplay, error) {
	selection, err := a.selectionOf(&r.ReplaySelection)
	return deadletter.NewReplay{Selection: selection, Token: r.Token, Plan: store.ReplayPlan(r.Plan), Reason: r.Reason}, err
}

func (a *API) createReplay(c *call, in *replayIn) (client.Replay, error) {
	replay, err := a.newReplayOf(&in.Body)
	if err != nil {
		return client.Replay{}, a.checkReplay(c, in)
	}
	status, err := a.Letters.Replay(c.r.Context(), c.caller, replay)
	return replayOf(status), err
}

func (a *API) checkReplay(_ *call, in *replayIn) error {
	var bad fault.FieldErrors
	replay, err := a.newReplayOf(&in.Body)
	bad.Merge(err)
	bad.Merge(a.Letters.CheckReplay(replay))
	return bad.Err()
}

type previewIn struct{ Body client.ReplaySelection }

func (a *API) previewReplay(c *call, in *previewIn) (client.ReplayPreview, error) {
	selection, err := a.selectionOf(&in.Body)
	if err != nil {
		return client.ReplayPreview{}, a.checkPreview(c, in)
	}
	p, err := a.Letters.Preview(c.r.Context(), c.caller, selection)
	return client.ReplayPreview{
		Eligible: p.Eligible, NotEligible: p.NotEligible, Refused: each(p.Refused, refusedOf), More: p.More, Token: p.Frozen.Token(),
	}, err
}

func (a *API) checkPreview(_ *call, in *previewIn) error {
	var bad fault.FieldErrors
	selection, err := a.selectionOf(&in.Body)
	bad.Merge(err)
	bad.Merge(a.Letters.CheckSelection(selection))
	return bad.Err()
}

type replaysIn struct {
	State string `query:"state" enum:"COLLECTING,RUNNING,PAUSED,CANCELLING,CANCELLED,DONE"`
	page
}

func (a *API) listReplays(c *call, in *replaysIn) (client.ReplayPage, error) {
	at, err := in.read()
	if err != nil {
		return client.ReplayPage{}, err
	}
	found, cursor, err := a.Letters.Replays(c.r.Context(), c.caller, store.ReplayState(in.State), at)
	return client.ReplayPage{Replays: each(found, replayOf), Next: next(cursor)}, err
}

func (a *API) showReplay(c *call, in *idIn) (client.ReplayDetails, error) {
	status, err := a.Letters.Status(c.r.Context(), c.caller, in.ID)
	if err != nil {
		return client.ReplayDetails{}, err
	}
	notes, err := a.Letters.Store.Notes(c.r.Context(), store.Note{ReplayID: in.ID}, store.MaxPage)
	return client.ReplayDetails{Replay: replayOf(status), Notes: each(notes, noteOf)}, err
}

type replayItemsIn struct {
	idIn
	State string `query:"state" enum:"PENDING,RELEASED,SUCCEEDED,FAILED,REPEATED,CANCELLED,ARCHIVED"`
	From  int    `query:"from" minimum:"0" doc:"the position from which on; default 0"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"rows of a page; default 100"`
}

func (a *API) listReplayItems(c *call, in *replayItemsIn) (client.ReplayItems, error) {
	if _, err := a.Letters.Status(c.r.Context(), c.caller, in.ID); err != nil {
		return client.ReplayItems{}, err
	}
	items, next, err := a.Letters.Store.Items(c.r.Context(), in.ID, store.ItemState(in.State), in.From, in.Limit)
	return client.ReplayItems{Items: each(items, itemOf), Next: max(next, 0)}, err
}
