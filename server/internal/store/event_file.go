package store

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// EventFile is what is known of the file of a day, with the place that it was written to.
type EventFile struct {
	wire.EventFile
	Place string
}

// EventFiles describes the manifest: the file of each day.
var EventFiles = sqldb.Table[EventFile]{Name: "recoup.event_file", Columns: []sqldb.Column[EventFile]{
	sqldb.Time("day", func(f *EventFile) *time.Time { return &f.Day }).Key(),
	sqldb.Text("place", func(f *EventFile) *string { return &f.Place }),
	sqldb.Text("file", func(f *EventFile) *string { return &f.Name }),
	sqldb.Count("version", func(f *EventFile) *int { return &f.Version }),
	sqldb.Big("events", func(f *EventFile) *int64 { return &f.Rows }),
	sqldb.Big("bytes", func(f *EventFile) *int64 { return &f.Bytes }),
	sqldb.Text("sha256", func(f *EventFile) *string { return &f.SHA256 }),
	sqldb.Time("first_ts", func(f *EventFile) *time.Time { return &f.First }),
	sqldb.Time("last_ts", func(f *EventFile) *time.Time { return &f.Last }),
	sqldb.Time("written_at", func(f *EventFile) *time.Time { return &f.WrittenAt }),
}}

// EventFiling says that events are written to files before they are dropped, and where.
type EventFiling struct {
	Name  string // always FilingEvents: there is one at most
	Place string
	Since time.Time
}

// FilingEvents is the name of the one filing.
const FilingEvents = "events"

// EventFilings describes the one row of it.
var EventFilings = sqldb.Table[EventFiling]{Name: "recoup.event_filing", Columns: []sqldb.Column[EventFiling]{
	sqldb.Text("name", func(f *EventFiling) *string { return &f.Name }).Key(),
	sqldb.Text("place", func(f *EventFiling) *string { return &f.Place }),
	sqldb.Time("since", func(f *EventFiling) *time.Time { return &f.Since }),
}}

// EventDay is how many events the ledger counts on a day, and what was written of them.
type EventDay struct {
	Day    time.Time // midnight, UTC
	Events int64
	File   *EventFile // nil: none was written
}

// The acts on files of events, as the audit names them.
const (
	ActEventsExport = "events.export"
	ActEventFile    = "events.file"
	ActFilingOn     = "events.filing.on"
	ActFilingOff    = "events.filing.off"
)
