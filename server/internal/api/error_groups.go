package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// errorGroupRoutes are about what errors have in common.
func errorGroupRoutes() []*route {
	return []*route{
		checked(operation(get, "/v1/error-groups", "List groups of errors, by open errors or last seen first", (*API).listErrorGroups), (*API).checkErrorGroups).by(readers()...).under(priority).tagged("errors"),
		operation(get, "/v1/error-groups/{id}", "Show a group of errors: its counts and its trend", (*API).showErrorGroup).by(readers()...).under(priority).tagged("errors"),
		checked(operation(post, "/v1/error-groups/{id}/note", "Set the owner and the note of a group of errors", (*API).noteErrorGroup), (*API).checkErrorGroupNote).by(Operator).under(priority).repeats(notIdempotent).tagged("errors"),
	}
}

type errorGroupsIn struct {
	client.ErrorGroupFilter
	page
}

func (a *API) errorGroupFilter(in *errorGroupsIn) (store.ErrorGroupFilter, error) {
	f, err := a.filterOf(client.Filter{Table: in.Table, Hub: in.Hub, Code: in.Code})
	return store.ErrorGroupFilter{Table: f.Table, Tables: f.Tables, Code: f.Code, State: in.State, Order: in.Sort}, err
}

func (a *API) checkErrorGroups(_ *call, in *errorGroupsIn) error {
	_, err := a.errorGroupFilter(in)
	return err
}

func (a *API) listErrorGroups(c *call, in *errorGroupsIn) (client.ErrorGroupPage, error) {
	filter, err := a.errorGroupFilter(in)
	if err != nil {
		return client.ErrorGroupPage{}, err
	}
	at, err := in.read()
	if err != nil {
		return client.ErrorGroupPage{}, err
	}
	groups, cursor, err := a.Engine.ErrorGroups(c.Context(), c.caller, filter, at)
	return client.ErrorGroupPage{Groups: listed(groups), Next: next(cursor)}, err
}

func (a *API) showErrorGroup(c *call, in *idIn) (recoup.ErrorGroup, error) {
	return a.Engine.ErrorGroup(c.Context(), c.caller, in.ID)
}

func (a *API) noteErrorGroup(c *call, in *groupNoteIn) (recoup.ErrorGroup, error) {
	return a.Engine.NoteErrorGroup(c.Context(), c.caller, in.ID, in.Body.Owner, in.Body.Note)
}

func (a *API) checkErrorGroupNote(_ *call, in *groupNoteIn) error {
	return a.Engine.CheckGroupNote(in.Body.Owner, in.Body.Note)
}
