package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// viewRoutes are about lists that people come back to.
func viewRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/views", "List saved views, newest first", (*API).listViews).Roles(httpapi.RoleOperator, httpapi.RoleReader).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/views", "Save a filter of errors under a name", (*API).addView), (*API).checkView).Status(201).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Repeat(httpapi.RepeatNotIdempotent).Tag("errors"),
		httpapi.WithCheck(httpapi.Op(put, "/v1/views/{id}", "Change the name, the filter or the hub of a view", (*API).changeView), (*API).checkChangedView).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Tag("errors"),
		httpapi.Op(del, "/v1/views/{id}", "Delete a view", (*API).deleteView).Roles(httpapi.RoleOperator).Load(httpapi.LoadPriority).Tag("errors"),
	}
}

func (a *API) listViews(c *httpapi.Call, in *httpapi.Page) (wire.ViewPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return wire.ViewPage{}, err
	}
	found, cursor, err := a.Store.Views(c.Context(), c.Caller.Key, c.Caller.Hubs, at)
	for i := range found {
		found[i].Tokens = httpapi.Listed(found[i].Tokens)
	}
	return wire.ViewPage{Views: httpapi.Listed(found), Next: httpapi.NextCursor(cursor)}, err
}

type newViewIn struct{ Body wire.NewView }

func (a *API) addView(c *httpapi.Call, in *newViewIn) (wire.View, error) {
	wrong := a.checkView(c, in)
	v := wire.View{ID: a.IDs.New(c.Now), Name: in.Body.Name, Tokens: in.Body.Tokens, Hub: in.Body.Hub}
	return a.saveView(c, v, wrong, func(by store.Act) (wire.View, error) { return a.Store.AddView(c.Context(), v, by) })
}

type changeViewIn struct {
	httpapi.IDParam
	Body wire.NewView
}

func (a *API) changeView(c *httpapi.Call, in *changeViewIn) (wire.View, error) {
	wrong := a.checkChangedView(c, in)
	v := wire.View{ID: in.ID, Name: in.Body.Name, Tokens: in.Body.Tokens, Hub: in.Body.Hub}
	return a.saveView(c, v, wrong, func(by store.Act) (wire.View, error) {
		return a.Store.ChangeView(c.Context(), v, c.Caller.Of, by)
	})
}

// saveView saves a view that is as it should be, for who may.
func (a *API) saveView(c *httpapi.Call, v wire.View, wrong error, save func(store.Act) (wire.View, error)) (wire.View, error) {
	switch {
	case wrong != nil:
		return v, wrong
	case v.Hub != "" && !c.Caller.Of(v.Hub):
		return v, engine.ErrForbidden
	}
	saved, err := save(c.Act(""))
	saved.Tokens = httpapi.Listed(saved.Tokens)
	switch {
	case errors.Is(err, store.ErrConflict):
		err = fault.BadField("name", "unique", "there is a view of this name already; take another, or change that one")
	case errors.Is(err, store.ErrFull):
		err = fault.BadField("name", "limit", "there are %d views already, and no more can be; delete one first", wire.MaxViews)
	}
	return saved, err
}

func (a *API) deleteView(c *httpapi.Call, in *httpapi.IDParam) (wire.View, error) {
	gone, err := a.Store.DeleteView(c.Context(), in.ID, c.Caller.Of, c.Act(""))
	gone.Tokens = httpapi.Listed(gone.Tokens)
	return gone, err
}

func (a *API) checkView(c *httpapi.Call, in *newViewIn) error { return a.checkNewView(c, &in.Body) }

func (a *API) checkChangedView(c *httpapi.Call, in *changeViewIn) error {
	return a.checkNewView(c, &in.Body)
}

// checkNewView says what is wrong with a view: its filter must be one that a list takes, and
// nothing of it may be a secret. Names of hubs are replaced by their ids.
func (a *API) checkNewView(c *httpapi.Call, v *wire.NewView) error {
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
	f, err := wire.TokenFilter(v.Tokens, c.Now)
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
