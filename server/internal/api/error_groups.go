package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// errorGroupRoutes are about what errors have in common.
func errorGroupRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.WithCheck(httpapi.Op(get, "/v1/error-groups", "List groups of errors, by open errors or last seen first", (*API).listErrorGroups), (*API).checkErrorGroups).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.Op(get, "/v1/error-groups/{id}", "Show a group of errors: its counts and its trend", (*API).showErrorGroup).Roles(readers()...).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/error-groups/{id}/note", "Set the owner and the note of a group of errors", (*API).noteErrorGroup), (*API).checkErrorGroupNote).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent).Tag("errors"),
	}
}

type errorGroupsIn struct {
	recoup.ErrorGroupFilter
	httpapi.Page
}

func (a *API) errorGroupFilter(in *errorGroupsIn) (store.ErrorGroupFilter, error) {
	f, err := a.filterOf(recoup.ErrorFilter{Table: in.Table, Hub: in.Hub, Code: in.Code})
	return store.ErrorGroupFilter{Table: f.Table, Tables: f.Tables, Code: f.Code, State: in.State, Order: in.Sort}, err
}

func (a *API) checkErrorGroups(_ *httpapi.Call, in *errorGroupsIn) error {
	_, err := a.errorGroupFilter(in)
	return err
}

func (a *API) listErrorGroups(c *httpapi.Call, in *errorGroupsIn) (recoup.ErrorGroupPage, error) {
	filter, err := a.errorGroupFilter(in)
	if err != nil {
		return recoup.ErrorGroupPage{}, err
	}
	at, err := in.StorePage()
	if err != nil {
		return recoup.ErrorGroupPage{}, err
	}
	groups, cursor, err := a.Engine.ErrorGroups(c.Context(), c.Caller, filter, at)
	return recoup.ErrorGroupPage{Groups: httpapi.Listed(groups), Next: httpapi.NextCursor(cursor)}, err
}

func (a *API) showErrorGroup(c *httpapi.Call, in *httpapi.IDParam) (recoup.ErrorGroup, error) {
	return a.Engine.ErrorGroup(c.Context(), c.Caller, in.ID)
}

func (a *API) noteErrorGroup(c *httpapi.Call, in *groupNoteIn) (recoup.ErrorGroup, error) {
	return a.Engine.NoteErrorGroup(c.Context(), c.Caller, in.ID, in.Body.Owner, in.Body.Note)
}

func (a *API) checkErrorGroupNote(_ *httpapi.Call, in *groupNoteIn) error {
	return a.Engine.CheckGroupNote(in.Body.Owner, in.Body.Note)
}
