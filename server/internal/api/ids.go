package api

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// shownIDs is how many things are named that a part of an id may mean.
	shownIDs = 10

	// soughtIDs is how many are looked at, of which some may be of other hubs.
	soughtIDs = 200
)

// idRoutes find what people mean by a part of an id.
func idRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/ids/{part}", "Find things by a part of their id", (*API).findIDs).Roles(readers()...).Load(httpapi.LoadPriority).Tag("operations"),
	}
}

// findable says who may find things of a kind: those who may list them.
func findable(kind recoup.IDKind) *httpapi.Route {
	r := &httpapi.Route{}
	switch kind {
	case recoup.ErrorIDs, recoup.DeadLetterIDs, recoup.DeadLetterGroupIDs, recoup.ReplayIDs, recoup.OperationIDs:
		return r.Roles(readers()...)
	case recoup.AlertIDs, recoup.SilenceIDs:
		return r.Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs()
	case recoup.NoticeIDs:
		return r.Roles(httpapi.RoleOperator).AllHubs()
	case recoup.KeyIDs:
		return r.AdminsOnly().AllHubs()
	}
	return r.Roles(readers()...).AllHubs() // of a slice, whose things are of no hub
}

type partIn struct {
	Part string        `path:"part" maxLength:"36" doc:"six hexadecimal digits or more, of the beginning or the end; dashes do not matter" example:"9e4a71"`
	Kind recoup.IDKind `query:"kind" required:"true" enum:"errors,dead-letters,dead-letter-groups,replays,operations,intakes,alerts,silences,notices,keys" doc:"of what it is a part"`
}

func (a *API) findIDs(c *httpapi.Call, in *partIn) (wire.FoundIDs, error) {
	if err := a.mayFind(c, in.Kind); err != nil {
		return wire.FoundIDs{}, err
	}
	part, err := recoup.ParseIDPart(in.Part)
	if err != nil {
		var bad check.Fields
		bad.Addf("part", "format", "part must be 6 to 32 hexadecimal digits, from the beginning or the end of an id")
		return wire.FoundIDs{}, bad.Err()
	}
	found, err := a.lookFor(c.Context(), in.Kind, part)
	found = slices.DeleteFunc(found, func(f wire.FoundID) bool { return !a.maySee(c, in.Kind, f.Of) })
	shown := found[:min(len(found), shownIDs)]
	return wire.FoundIDs{IDs: httpapi.Listed(shown), More: len(found) > len(shown)}, err
}

// lookFor finds things of the core or of a slice.
func (a *API) lookFor(ctx context.Context, kind recoup.IDKind, part recoup.IDPart) ([]wire.FoundID, error) {
	for i := range a.Slices {
		if find := a.Slices[i].IDs[kind]; find != nil {
			return find(ctx, part, soughtIDs)
		}
	}
	return a.Store.FindIDs(ctx, kind, part, soughtIDs)
}

// mayFind refuses a key that may not list things of a kind.
func (a *API) mayFind(c *httpapi.Call, kind recoup.IDKind) error {
	if c.Key == nil {
		return nil
	}
	return findable(kind).Refuse(c.Key)
}

// maySee reports whether the caller's key is for the hub of a thing, which is known by its
// table, pipeline or hub.
func (a *API) maySee(c *httpapi.Call, kind recoup.IDKind, of string) bool {
	switch kind {
	case recoup.ErrorIDs:
		return a.mayTouch(c, of)
	case recoup.DeadLetterIDs, recoup.DeadLetterGroupIDs:
		return a.Letters.Sees(c.Caller, of)
	case recoup.ReplayIDs, recoup.OperationIDs:
		return c.Caller.Of(of)
	}
	return true // keys for some hubs have been refused
}
