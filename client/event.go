package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// SendEvents adds events to the ledger and returns once they are durable. Events
// without an id or a time get one, so that a retry adds nothing twice. Each event is
// accepted or refused on its own. An [Emitter] does this in the background.
func (c *Client) SendEvents(ctx context.Context, events []recoup.Event, options ...CallOption) (recoup.EventsAccepted, error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		c.complete(&e)
		if err := enc.Encode(e); err != nil {
			return recoup.EventsAccepted{}, c.failure(err)
		}
	}
	return call[recoup.EventsAccepted](ctx, c, eventsRequest(lines.Bytes()), options)
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
func eventsRequest(lines []byte) Request {
	return Request{
		Method: http.MethodPost, Path: "/v1/events", Body: RawBody{Media: "application/x-ndjson", Data: lines},
		Header: http.Header{"Prefer": {"respond-sync"}},
		Safety: Idempotent,
	}
}

// List lists the ledger, newest first.
func (s EventService) List(ctx context.Context, f recoup.EventFilter, p Page, options ...CallOption) (recoup.EventPage, error) {
	q := query.Values{}.Text("correlation_id", f.CorrelationID.String()).Text("service", f.Service).Text("code", f.Code).Text("tenant", f.Tenant).
		Time("from", f.From).Time("to", f.To)
	return get[recoup.EventPage](ctx, s.c, "/v1/events", pageQuery(p, q), options)
}

// All walks the ledger, newest first, page by page. It ends with the first
// failure.
func (s EventService) All(ctx context.Context, f recoup.EventFilter) iter.Seq2[recoup.StoredEvent, error] {
	return Walk(ctx, func(ctx context.Context, p Page) ([]recoup.StoredEvent, string, error) {
		page, err := s.List(ctx, f, p)
		return page.Events, page.Next, err
	})
}

// ExportCounts returns counts by day. The server audits every export.
func (s EventService) ExportCounts(ctx context.Context, d recoup.DayFilter, options ...CallOption) ([]recoup.DailyCount, error) {
	answer, err := get[recoup.EventExport](ctx, s.c, "/v1/events/export", dayQuery(d).URL(), options)
	return answer.Days, err
}

// Export walks the events themselves, which needs a separate permission. The
// server audits every page.
func (s EventService) Export(ctx context.Context, d recoup.DayFilter) iter.Seq2[recoup.StoredEvent, error] {
	return Walk(ctx, func(ctx context.Context, p Page) ([]recoup.StoredEvent, string, error) {
		q := dayQuery(d).Flag("rows", true).Text("cursor", p.Cursor)
		page, err := get[recoup.EventExport](ctx, s.c, "/v1/events/export", q.URL(), nil)
		return page.Events, page.Next, err
	})
}
