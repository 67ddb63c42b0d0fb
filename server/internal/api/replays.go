package api

import (
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// replayRoutes are about operations that send dead letters back to work.
func replayRoutes() []*httpapi.Route {
	list := []*httpapi.Route{
		httpapi.WithCheck(httpapi.Op(post, "/v1/replays/preview", "Preview which dead letters a replay would include, and why others are left out", (*API).previewReplay), (*API).checkPreview).ReadOnly().Roles(httpapi.RoleOperator, httpapi.RoleReader).Load(httpapi.LoadPriority).Long().ReadsMuch(),
		httpapi.WithCheck(httpapi.Op(post, "/v1/replays", "Start a replay of dead letters", (*API).createReplay), (*API).checkReplay).Status(http.StatusCreated).MaxBody(letterBody).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Long().Repeat(httpapi.RepeatNotIdempotent),
		httpapi.Op(get, "/v1/replays", "List replays, newest first", (*API).listReplays).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(get, "/v1/replays/{id}", "Show a replay and how far it has come", (*API).showReplay).Roles(readers()...).Load(httpapi.LoadPriority),
		httpapi.Op(get, "/v1/replays/{id}/items", "List the members of a replay and what became of each", (*API).listReplayItems).Roles(readers()...).Load(httpapi.LoadPriority),
	}
	for _, verb := range [][2]string{
		{deadletter.ActPause, "Pause a replay"},
		{deadletter.ActResume, "Resume a replay"},
		{deadletter.ActCancel, "Cancel a replay"},
	} {
		act, summary := verb[0], verb[1]
		list = append(list, httpapi.WithCheck(httpapi.Op(post, "/v1/replays/{id}/"+act, summary, func(a *API, c *httpapi.Call, in *replayActIn) (recoup.Replay, error) {
			return a.Letters.ActOnReplay(c.Context(), c.Caller, in.ID, act, in.Body.Reason)
		}), neededReason(func(in *replayActIn) string { return in.Body.Reason })).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority))
	}
	for _, rt := range list {
		rt.Tag("replays")
	}
	return list
}

type replayActIn struct {
	httpapi.IDParam
	Body recoup.ReplayAct
}

type replayLetterIn struct {
	httpapi.IDParam
	Body recoup.SingleReplay
}

// replay is a replay of the dead letter alone.
func (in *replayLetterIn) replay() recoup.NewReplay {
	return recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{in.ID}, FromStart: in.Body.FromStart}, Reason: in.Body.Reason}
}

func (a *API) replayLetter(c *httpapi.Call, in *replayLetterIn) (recoup.Replay, error) {
	return a.Letters.Replay(c.Context(), c.Caller, in.replay())
}

type replayIn struct{ Body recoup.NewReplay }

func (a *API) createReplay(c *httpapi.Call, in *replayIn) (recoup.Replay, error) {
	return a.Letters.Replay(c.Context(), c.Caller, in.Body)
}

func (a *API) checkReplay(_ *httpapi.Call, in *replayIn) error { return a.Letters.CheckReplay(in.Body) }

type previewIn struct{ Body recoup.ReplaySelection }

func (a *API) previewReplay(c *httpapi.Call, in *previewIn) (recoup.ReplayPreview, error) {
	p, err := a.Letters.Preview(c.Context(), c.Caller, in.Body)
	explain(p.Refused)
	return p, err
}

func (a *API) checkPreview(_ *httpapi.Call, in *previewIn) error {
	return a.Letters.CheckSelection(in.Body)
}

type replaysIn struct {
	State string `query:"state" enum:"COLLECTING,RUNNING,PAUSED,CANCELLING,CANCELLED,DONE" doc:"only replays in this state"`
	httpapi.Page
}

func (a *API) listReplays(c *httpapi.Call, in *replaysIn) (recoup.ReplayPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.ReplayPage{}, err
	}
	found, cursor, err := a.Letters.Replays(c.Context(), c.Caller, recoup.ReplayState(in.State), at)
	return recoup.ReplayPage{Replays: found, Next: httpapi.NextCursor(cursor)}, err
}

func (a *API) showReplay(c *httpapi.Call, in *httpapi.IDParam) (recoup.ReplayDetails, error) {
	d, err := a.Letters.Status(c.Context(), c.Caller, in.ID)
	d.Notes = httpapi.Listed(d.Notes)
	return d, err
}

type replayItemsIn struct {
	httpapi.IDParam
	State string `query:"state" enum:"PENDING,RELEASED,SUCCEEDED,FAILED,REPEATED,CANCELLED,ARCHIVED" doc:"only members in this state"`
	From  int    `query:"from" minimum:"0" default:"0" doc:"the position from which on"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"rows of a page"`
}

func (a *API) listReplayItems(c *httpapi.Call, in *replayItemsIn) (recoup.ReplayItems, error) {
	items, next, err := a.Letters.Items(c.Context(), c.Caller, in.ID, recoup.ItemState(in.State), in.From, in.Limit)
	return recoup.ReplayItems{Items: httpapi.Listed(items), Next: max(next, 0)}, err
}
