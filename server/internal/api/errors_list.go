package api

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

type filterIn struct {
	recoup.ErrorFilter
	httpapi.Page
}

// filterOf reads a filter. A hub stands for all of its tables.
func (a *API) filterOf(f recoup.ErrorFilter) (store.Filter, error) {
	check.Normalize(&f.Table, &f.EntityID, &f.AssignedTo)
	filter := store.Filter{
		Table: f.Table, State: f.State, Entity: f.EntityID, AssignedTo: f.AssignedTo, Group: f.Group, Text: f.Text, Tier: f.Tier,
		Blocking: f.Blocking, Parked: f.Parked, Before: f.Before, After: f.After,
	}
	var bad []fault.FieldError
	complain := func(field, constraint, message string) {
		bad = append(bad, fault.FieldError{Field: field, Constraint: constraint, Message: message})
	}
	for _, x := range [][2]string{{"table", f.Table}, {"entity_id", f.EntityID}, {"assigned_to", f.AssignedTo}, {"q", f.Text}} {
		if field, name := x[0], x[1]; strings.ContainsRune(name, 0) {
			complain(field, "printable", field+" must not contain NUL")
		}
	}
	if f.Text != "" && !engine.Searchable(f.Text) {
		complain("q", "words", "q must have a word of three letters or more; numbers, ids and quoted text differ from one message to the next, and are not searched")
	}
	if f.Code != "" {
		_, code, err := a.Registrar.Codes().Fold(f.Code)
		if err != nil {
			complain("code", "pattern", err.Error())
		}
		filter.Code = code
	}
	if f.Hub != "" {
		hub, err := a.hub(f.Hub)
		if err != nil {
			complain("hub", "known", err.Error())
		}
		filter.Tables = a.tablesOf(hub)
	}
	if len(bad) > 0 {
		return store.Filter{}, fault.Validation(bad...)
	}
	return filter, nil
}

// hub returns the id of the hub that a caller names by its id or its name. Hubs whose tables have
// left the policy are known as long as these may have errors.
func (a *API) hub(word string) (id string, err error) {
	return policy.FindHub(word, policy.HubsOf(a.Engine.Policies.Tables()))
}

// tablesOf lists the tables of a hub, also those that have left the policy and may
// still have errors.
func (a *API) tablesOf(hub string) []string {
	var names []string
	for _, t := range a.Engine.Policies.Tables() {
		if t.Hub == hub {
			names = append(names, t.Name)
		}
	}
	return names
}

func (a *API) listErrors(c *httpapi.Call, in *filterIn) (recoup.ErrorPage, error) {
	filter, err := a.filterOf(in.ErrorFilter)
	if err != nil {
		return recoup.ErrorPage{}, err
	}
	at, err := in.StorePage()
	if err != nil {
		return recoup.ErrorPage{}, err
	}
	found, err := a.Engine.Find(c.Context(), c.Caller, filter, at)
	return recoup.ErrorPage{Errors: visible(found.Errors...), Next: httpapi.NextCursor(found.Next), Truncated: found.Partial}, err
}

func (a *API) checkFilter(_ *httpapi.Call, in *filterIn) error {
	_, err := a.filterOf(in.ErrorFilter)
	return err
}

type parkedIn struct {
	recoup.ParkedFilter
	httpapi.Page
}

func (a *API) listParked(c *httpapi.Call, in *parkedIn) (recoup.ErrorPage, error) {
	filter, err := a.filterOf(recoup.ErrorFilter{Table: in.Table, Hub: in.Hub})
	if err != nil {
		return recoup.ErrorPage{}, err
	}
	at, err := in.StorePage()
	if err != nil {
		return recoup.ErrorPage{}, err
	}
	if in.Table != "" {
		if in.Hub != "" && !slices.Contains(filter.Tables, in.Table) {
			return recoup.ErrorPage{Errors: []recoup.Error{}}, nil
		}
		filter.Tables = []string{in.Table}
	}
	errs, cursor, err := a.Engine.ParkQueue(c.Context(), c.Caller, filter.Tables, at)
	return recoup.ErrorPage{Errors: visible(errs...), Next: httpapi.NextCursor(cursor)}, err
}

type archivedIn struct {
	Table string `query:"table" required:"true" doc:"the error table"`
	httpapi.Page
}

func (a *API) listArchived(c *httpapi.Call, in *archivedIn) (recoup.ErrorPage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.ErrorPage{}, err
	}
	errs, cursor, err := a.Engine.Archived(c.Context(), c.Caller, in.Table, at)
	return recoup.ErrorPage{Errors: visible(errs...), Next: httpapi.NextCursor(cursor)}, err
}
