package recoup

import "time"

// EventFilter selects events. All fields that are set must match.
type EventFilter struct {
	CorrelationID ID        `query:"correlation_id" doc:"only events of this request or run"`
	Service       string    `query:"service" doc:"only events of this service"`
	Code          string    `query:"code" doc:"only this code, or an alias of it"`
	Tenant        string    `query:"tenant" maxLength:"256" doc:"its name; found under every live tenant key, in at most 31 days: the last ones unless from or to says otherwise"`
	From          time.Time `query:"from" doc:"happened at or after"` // happened in [From, To)
	To            time.Time `query:"to" doc:"happened before"`
}

// EventPage is a page of events, newest first.
type EventPage struct {
	Events []StoredEvent `json:"events" doc:"this page of the list"`
	Next   string        `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// EventExport is counts by day, or, if rows were asked for, a page of events.
type EventExport struct {
	Days   []DailyCount  `json:"days,omitempty" doc:"counts by day, service and code"`
	Events []StoredEvent `json:"events,omitempty" doc:"the events themselves, with rows=true"`
	Next   string        `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}
