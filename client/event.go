package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
)

// SendEvents adds events to the ledger and returns once they are durable. Events
// without an id or a time get one, so that a retry adds nothing twice. Each event is
// accepted or refused on its own. An [Emitter] does this in the background.
func (c *Client) SendEvents(ctx context.Context, events []recoup.Event, options ...CallOption) (EventsAccepted, error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		c.complete(&e)
		if err := enc.Encode(e); err != nil {
			return EventsAccepted{}, c.failure(err)
		}
	}
	return call[EventsAccepted](ctx, c, eventsRequest(lines.Bytes()), options)
}

// complete gives an event what makes it the same event whenever it is sent.
func (c *Client) complete(e *recoup.Event) {
	if e.TS.IsZero() {
		e.TS = c.o.Now()
	}
	e.TS = e.TS.UTC()
	if e.ID.IsZero() {
		e.ID = c.ids.New(e.TS)
	}
	e.Service, e.Region = cmp.Or(e.Service, c.o.Service), cmp.Or(e.Region, c.o.Region)
}

// eventsRequest carries one event per line.
func eventsRequest(lines []byte) request {
	return request{
		method: http.MethodPost, path: "/v1/events", body: payload{media: "application/x-ndjson", data: lines},
		header: http.Header{"Prefer": {"respond-sync"}},
	}
}

// EventFilter selects events. All fields that are set must match.
type EventFilter struct {
	CorrelationID recoup.ID `query:"correlation_id" doc:"only events of this request or run"`
	Service       string    `query:"service" doc:"only events of this service"`
	Code          string    `query:"code" doc:"only this code, or an alias of it"`
	Tenant        string    `query:"tenant" maxLength:"256" doc:"its name; found under every live tenant key, in at most 31 days: the last ones unless from or to says otherwise"`
	From          time.Time `query:"from" doc:"happened at or after"` // happened in [From, To)
	To            time.Time `query:"to" doc:"happened before"`
}

// Events lists the ledger, newest first.
func (c *Client) Events(ctx context.Context, f EventFilter, p Page, options ...CallOption) (EventPage, error) {
	q := query{}.text("correlation_id", f.CorrelationID.String()).text("service", f.Service).text("code", f.Code).text("tenant", f.Tenant).
		time("from", f.From).time("to", f.To)
	return get[EventPage](ctx, c, "/v1/events", p.query(q), options)
}

// AllEvents walks the ledger, newest first, page by page. It ends with the first
// failure.
func (c *Client) AllEvents(ctx context.Context, f EventFilter) iter.Seq2[recoup.StoredEvent, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.StoredEvent, string, error) {
		page, err := c.Events(ctx, f, p)
		return page.Events, page.Next, err
	})
}

// ExportCounts returns counts by day. The server audits every export.
func (c *Client) ExportCounts(ctx context.Context, d Days, options ...CallOption) ([]DailyCount, error) {
	answer, err := get[Export](ctx, c, "/v1/events/export", d.query(), options)
	return answer.Days, err
}

// ExportEvents walks the events themselves, which needs a separate permission. The
// server audits every page.
func (c *Client) ExportEvents(ctx context.Context, d Days) iter.Seq2[recoup.StoredEvent, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.StoredEvent, string, error) {
		q := query(d.query()).flag("rows", true).text("cursor", p.Cursor)
		page, err := get[Export](ctx, c, "/v1/events/export", q.values(), nil)
		return page.Events, page.Next, err
	})
}
