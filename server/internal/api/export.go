package api

import (
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

type exportIn struct {
	daysIn
	Rows   bool   `query:"rows" doc:"the events themselves instead of their counts; admins only"`
	Cursor string `query:"cursor" doc:"where the last page of rows ended: its next"`
}

// exportEvents gives aggregated counts to everyone who may read, and rows only
// to whoever has that permission (spec 003, security and privacy). Every export
// is audited before it is given.
func (a *API) exportEvents(c *httpapi.Call, in *exportIn) (recoup.EventExport, error) {
	from, to, err := in.span(c.Now)
	if err != nil {
		return recoup.EventExport{}, err
	}
	if in.Rows && c.Key != nil && httpapi.Role(c.Key.Role) != httpapi.RoleAdmin {
		return recoup.EventExport{}, fault.New(fault.CodeInsufficientPermissions, "Only a key of the role admin may export rows; counts need none.").
			With("role", c.Key.Role).With("required_roles", []httpapi.Role{httpapi.RoleAdmin})
	}
	read, err := a.exporter(c, in, from, to)
	if err != nil {
		return recoup.EventExport{}, err
	}
	entry := c.Act("").On("events.export", in.Service, map[string]any{
		"rows": strconv.FormatBool(in.Rows), "from": from.UTC().Format("2006-01-02"), "to": to.UTC().Format("2006-01-02"),
	})
	if err := a.Store.AppendAudit(c.Context(), entry); err != nil {
		return recoup.EventExport{}, err
	}
	return read()
}

// exporter checks what is asked for and returns what reads it.
func (a *API) exporter(c *httpapi.Call, in *exportIn, from, to time.Time) (func() (recoup.EventExport, error), error) {
	if err := check.Identifier("service", in.Service); err != nil { // the audit keeps it
		return nil, err
	}
	if !in.Rows {
		filter, err := a.dailyFilter(&in.daysIn)
		return func() (recoup.EventExport, error) {
			days, err := a.dailyCounts(c, filter, from, to)
			return recoup.EventExport{Days: days.Days}, err
		}, err
	}
	wanted := &eventsIn{EventFilter: recoup.EventFilter{Service: in.Service, Code: in.Code, From: from, To: to}, Page: httpapi.Page{Limit: sqldb.MaxPage, Cursor: in.Cursor}}
	query, err := a.eventQuery(c.Now, wanted)
	return func() (recoup.EventExport, error) {
		page, err := a.readEvents(c, query)
		return recoup.EventExport{Events: page.Events, Next: page.Next}, err
	}, err
}
