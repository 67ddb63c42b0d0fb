package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// ErrorGroups describes the rows of groups of errors, but for what the database
// computes.
var ErrorGroups = sqldb.Table[recoup.ErrorGroup]{Name: "recoup.error_group", Columns: []sqldb.Column[recoup.ErrorGroup]{
	sqldb.ID("group_id", func(g *recoup.ErrorGroup) *recoup.ID { return &g.ID }).Key(),
	sqldb.Text("table_name", func(g *recoup.ErrorGroup) *string { return &g.Table }).Fixed(),
	sqldb.Text("code", func(g *recoup.ErrorGroup) *string { return (*string)(&g.Code) }).Fixed(),
	sqldb.Text("example", func(g *recoup.ErrorGroup) *string { return &g.Example }).Fixed(),
	sqldb.Text("owner", func(g *recoup.ErrorGroup) *string { return &g.Owner }),
	sqldb.Text("note", func(g *recoup.ErrorGroup) *string { return &g.Note }),
	sqldb.Time("first_seen_at", func(g *recoup.ErrorGroup) *time.Time { return &g.FirstSeenAt }).Fixed(),
	sqldb.Time("last_seen_at", func(g *recoup.ErrorGroup) *time.Time { return &g.LastSeenAt }).Fixed(),
	sqldb.Big("total", func(g *recoup.ErrorGroup) *int64 { return &g.Total }).Fixed(),
	sqldb.Big("active", func(g *recoup.ErrorGroup) *int64 { return &g.Active }).Fixed(),
	sqldb.Big("retry_pending", func(g *recoup.ErrorGroup) *int64 { return &g.RetryPending }).Fixed(),
	sqldb.Big("parked", func(g *recoup.ErrorGroup) *int64 { return &g.Parked }).Fixed(),
	sqldb.Big("escalated", func(g *recoup.ErrorGroup) *int64 { return &g.Escalated }).Fixed(),
	sqldb.Big("resolved", func(g *recoup.ErrorGroup) *int64 { return &g.Resolved }).Fixed(),
	sqldb.Big("open", func(g *recoup.ErrorGroup) *int64 { return &g.Open }).Fixed(),
}}

// ErrorGroupFilter selects groups of errors. Empty fields do not restrict.
type ErrorGroupFilter struct {
	Table  string
	Tables []string // any of these
	Code   recoup.Code
	State  recoup.State // groups that have an error in it
	Order  recoup.GroupOrder
}

// GroupHour is how many errors of a group were reported in an hour.
type GroupHour struct {
	ID   recoup.ID
	Hour time.Time
	N    int64
}

// ActErrorGroupNote is what the audit calls a new owner or note of a group.
const ActErrorGroupNote = "error_group.note"

// OpenCursor is where a list of groups goes on behind one with so many open errors: as
// many microseconds, since the time of a cursor is all that callers carry along.
func OpenCursor(g *recoup.ErrorGroup) sqldb.Cursor {
	return sqldb.Cursor{At: time.UnixMicro(max(g.Open, 0)).UTC(), ID: g.ID}
}
