package api

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/check"
)

const (
	// shownIDs is how many things are named that a part of an id may mean.
	shownIDs = 10

	// soughtIDs is how many are looked at, of which some may be of other hubs.
	soughtIDs = 200
)

// idRoutes find what people mean by a part of an id.
func idRoutes() []*route {
	return []*route{
		operation(get, "/v1/ids/{part}", "Find things by a part of their id", (*API).findIDs).by(readers()...).under(priority).tagged("operations"),
	}
}

// findable says who may find things of a kind: those who may list them.
func findable(kind recoup.IDKind) *route {
	r := &route{}
	switch kind {
	case recoup.IntakeIDs:
		return r.by(readers()...).forAllHubs()
	case recoup.AlertIDs, recoup.SilenceIDs:
		return r.by(Operator, Reader).forAllHubs()
	case recoup.NoticeIDs:
		return r.by(Operator).forAllHubs()
	case recoup.KeyIDs:
		return r.forAdmins().forAllHubs()
	}
	return r.by(readers()...)
}

type partIn struct {
	Part string        `path:"part" maxLength:"36" doc:"six hexadecimal digits or more, of the beginning or the end; dashes do not matter" example:"9e4a71"`
	Kind recoup.IDKind `query:"kind" required:"true" enum:"errors,dead-letters,dead-letter-groups,replays,operations,intakes,alerts,silences,notices,keys" doc:"of what it is a part"`
}

func (a *API) findIDs(c *call, in *partIn) (client.FoundIDs, error) {
	if err := a.mayFind(c, in.Kind); err != nil {
		return client.FoundIDs{}, err
	}
	part, err := recoup.ParseIDPart(in.Part)
	if err != nil {
		var bad check.Fields
		bad.Addf("part", "format", "part must be 6 to 32 hexadecimal digits, from the beginning or the end of an id")
		return client.FoundIDs{}, bad.Err()
	}
	found, err := a.Store.FindIDs(c.Context(), in.Kind, part, soughtIDs)
	found = slices.DeleteFunc(found, func(f recoup.FoundID) bool { return !a.maySee(c, in.Kind, f.Of) })
	shown := found[:min(len(found), shownIDs)]
	return client.FoundIDs{IDs: listed(shown), More: len(found) > len(shown)}, err
}

// mayFind refuses a key that may not list things of a kind.
func (a *API) mayFind(c *call, kind recoup.IDKind) error {
	if c.key == nil {
		return nil
	}
	return findable(kind).refuse(c.key)
}

// maySee reports whether the caller's key is for the hub of a thing, which is known by its
// table, pipeline or hub.
func (a *API) maySee(c *call, kind recoup.IDKind, of string) bool {
	switch kind {
	case recoup.ErrorIDs:
		return a.mayTouch(c, of)
	case recoup.DeadLetterIDs, recoup.DeadLetterGroupIDs:
		return a.Letters.Sees(c.caller, of)
	case recoup.ReplayIDs, recoup.OperationIDs:
		return c.caller.Of(of)
	}
	return true // keys for some hubs have been refused
}
