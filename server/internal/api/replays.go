package api

import (
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
)

// replayRoutes are about operations that send dead letters back to work.
func replayRoutes() []*route {
	list := []*route{
		checked(operation(post, "/v1/replays/preview", "Preview which dead letters a replay would include, and why others are left out", (*API).previewReplay), (*API).checkPreview).changesNothing().by(Operator, Reader).under(priority).takesLong().readsMuch(),
		checked(operation(post, "/v1/replays", "Start a replay of dead letters", (*API).createReplay), (*API).checkReplay).answers(http.StatusCreated).takesUpTo(letterBody).by(Operator).under(priority).takesLong().repeats(notIdempotent),
		operation(get, "/v1/replays", "List replays, newest first", (*API).listReplays).by(readers()...).under(priority),
		operation(get, "/v1/replays/{id}", "Show a replay and how far it has come", (*API).showReplay).by(readers()...).under(priority),
		operation(get, "/v1/replays/{id}/items", "List the members of a replay and what became of each", (*API).listReplayItems).by(readers()...).under(priority),
	}
	for _, verb := range [][2]string{
		{deadletter.ActPause, "Pause a replay"},
		{deadletter.ActResume, "Resume a replay"},
		{deadletter.ActCancel, "Cancel a replay"},
	} {
		act, summary := verb[0], verb[1]
		list = append(list, checked(operation(post, "/v1/replays/{id}/"+act, summary, func(a *API, c *call, in *replayActIn) (recoup.Replay, error) {
			return a.Letters.ActOnReplay(c.Context(), c.caller, in.ID, act, in.Body.Reason)
		}), neededReason(func(in *replayActIn) string { return in.Body.Reason })).by(Operator).under(priority))
	}
	for _, rt := range list {
		rt.tagged("replays")
	}
	return list
}

type replayActIn struct {
	idIn
	Body client.ReplayAct
}

type replayLetterIn struct {
	idIn
	Body client.SingleReplay
}

// replay is a replay of the dead letter alone.
func (in *replayLetterIn) replay() recoup.NewReplay {
	return recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{in.ID}, FromStart: in.Body.FromStart}, Reason: in.Body.Reason}
}

func (a *API) replayLetter(c *call, in *replayLetterIn) (recoup.Replay, error) {
	return a.Letters.Replay(c.Context(), c.caller, in.replay())
}

type replayIn struct{ Body recoup.NewReplay }

func (a *API) createReplay(c *call, in *replayIn) (recoup.Replay, error) {
	return a.Letters.Replay(c.Context(), c.caller, in.Body)
}

func (a *API) checkReplay(_ *call, in *replayIn) error { return a.Letters.CheckReplay(in.Body) }

type previewIn struct{ Body recoup.ReplaySelection }

func (a *API) previewReplay(c *call, in *previewIn) (recoup.ReplayPreview, error) {
	p, err := a.Letters.Preview(c.Context(), c.caller, in.Body)
	explain(p.Refused)
	return p, err
}

func (a *API) checkPreview(_ *call, in *previewIn) error { return a.Letters.CheckSelection(in.Body) }

type replaysIn struct {
	State string `query:"state" enum:"COLLECTING,RUNNING,PAUSED,CANCELLING,CANCELLED,DONE" doc:"only replays in this state"`
	page
}

func (a *API) listReplays(c *call, in *replaysIn) (client.ReplayPage, error) {
	at, err := in.read()
	if err != nil {
		return client.ReplayPage{}, err
	}
	found, cursor, err := a.Letters.Replays(c.Context(), c.caller, recoup.ReplayState(in.State), at)
	return client.ReplayPage{Replays: found, Next: next(cursor)}, err
}

func (a *API) showReplay(c *call, in *idIn) (recoup.ReplayDetails, error) {
	d, err := a.Letters.Status(c.Context(), c.caller, in.ID)
	d.Notes = listed(d.Notes)
	return d, err
}

type replayItemsIn struct {
	idIn
	State string `query:"state" enum:"PENDING,RELEASED,SUCCEEDED,FAILED,REPEATED,CANCELLED,ARCHIVED" doc:"only members in this state"`
	From  int    `query:"from" minimum:"0" default:"0" doc:"the position from which on"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
}

func (a *API) listReplayItems(c *call, in *replayItemsIn) (client.ReplayItems, error) {
	items, next, err := a.Letters.Items(c.Context(), c.caller, in.ID, recoup.ItemState(in.State), in.From, in.Limit)
	return client.ReplayItems{Items: listed(items), Next: max(next, 0)}, err
}
