package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// viewRoutes are about lists that people come back to.
func viewRoutes() []*route {
	return []*route{
		operation(get, "/v1/views", "List saved views, newest first", (*API).listViews).by(Operator, Reader).under(priority).tagged("errors"),
		checked(operation(post, "/v1/views", "Save a filter of errors under a name", (*API).addView), (*API).checkView).answers(201).by(Operator).under(priority).repeats(notIdempotent).tagged("errors"),
		checked(operation(put, "/v1/views/{id}", "Change the name, the filter or the hub of a view", (*API).changeView), (*API).checkChangedView).by(Operator).under(priority).tagged("errors"),
		operation(del, "/v1/views/{id}", "Delete a view", (*API).deleteView).by(Operator).under(priority).tagged("errors"),
	}
}

func (a *API) listViews(c *call, in *page) (client.ViewPage, error) {
	at, err := in.read()
	if err != nil {
		return client.ViewPage{}, err
	}
	found, cursor, err := a.Store.Views(c.Context(), c.caller.Key, c.caller.Hubs, at)
	for i := range found {
		found[i].Tokens = listed(found[i].Tokens)
	}
	return client.ViewPage{Views: listed(found), Next: next(cursor)}, err
}

type newViewIn struct{ Body client.NewView }

func (a *API) addView(c *call, in *newViewIn) (recoup.View, error) {
	wrong := a.checkView(c, in)
	v := recoup.View{ID: a.IDs.New(c.now), Name: in.Body.Name, Tokens: in.Body.Tokens, Hub: in.Body.Hub}
	return a.saveView(c, v, wrong, func(by store.Act) (recoup.View, error) { return a.Store.AddView(c.Context(), v, by) })
}

type changeViewIn struct {
	idIn
	Body client.NewView
}

func (a *API) changeView(c *call, in *changeViewIn) (recoup.View, error) {
	wrong := a.checkChangedView(c, in)
	v := recoup.View{ID: in.ID, Name: in.Body.Name, Tokens: in.Body.Tokens, Hub: in.Body.Hub}
	return a.saveView(c, v, wrong, func(by store.Act) (recoup.View, error) {
		return a.Store.ChangeView(c.Context(), v, c.caller.Of, by)
	})
}

// saveView saves a view that is as it should be, for who may.
func (a *API) saveView(c *call, v recoup.View, wrong error, save func(store.Act) (recoup.View, error)) (recoup.View, error) {
	switch {
	case wrong != nil:
		return v, wrong
	case v.Hub != "" && !c.caller.Of(v.Hub):
		return v, engine.ErrForbidden
	}
	saved, err := save(c.act(""))
	saved.Tokens = listed(saved.Tokens)
	switch {
	case errors.Is(err, store.ErrConflict):
		err = fault.BadField("name", "unique", "there is a view of this name already; take another, or change that one")
	case errors.Is(err, store.ErrFull):
		err = fault.BadField("name", "limit", "there are %d views already, and no more can be; delete one first", recoup.MaxViews)
	}
	return saved, err
}

func (a *API) deleteView(c *call, in *idIn) (recoup.View, error) {
	gone, err := a.Store.DeleteView(c.Context(), in.ID, c.caller.Of, c.act(""))
	gone.Tokens = listed(gone.Tokens)
	return gone, err
}

func (a *API) checkView(c *call, in *newViewIn) error { return a.checkNewView(c, &in.Body) }

func (a *API) checkChangedView(c *call, in *changeViewIn) error { return a.checkNewView(c, &in.Body) }

// checkNewView says what is wrong with a view: its filter must be one that a list takes, and
// nothing of it may be a secret. Names of hubs are replaced by their ids.
func (a *API) checkNewView(c *call, v *client.NewView) error {
	bad := check.Fields{Redactor: a.Engine.Redactor}
	if bad.Require("name", v.Name != "") {
		bad.Plain("name", v.Name, maxViewName)
	}
	v.Tokens = slices.Clone(v.Tokens)
	for i, token := range v.Tokens {
		key, value, _ := strings.Cut(token, ":")
		bad.Identifier(fmt.Sprintf("tokens[%d]", i), value)
		if hub, err := a.hub(value); key == "hub" && err == nil {
			v.Tokens[i] = "hub:" + hub
		}
	}
	f, err := client.TokenFilter(v.Tokens, c.now)
	if !bad.Merge(err) {
		_, err = a.filterOf(f)
		bad.Merge(err)
	}
	if v.Hub != "" {
		hub, err := a.hub(v.Hub)
		if v.Hub = hub; err != nil {
			bad.Addf("hub", "known", "%v", err)
		}
	}
	return bad.Err()
}

// maxViewName is the longest name of a view, in bytes.
const maxViewName = 100
