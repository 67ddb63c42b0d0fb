package api

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/ledger"
	"recoup/internal/store"
)

// The bounds of a batch of events.
const (
	maxEvents    = 10000
	maxEventLine = 16 << 10
	eventsBody   = 16 << 20
	maxRefused   = 100 // those that an answer names
)

// sendEvents takes one event, many in a list, or many as NDJSON. It reads its
// body itself, because there is more than one form of it.
func sendEvents() *route {
	decoder := newEventDecoder()
	return &route{
		method: http.MethodPost, path: "/v1/events", status: http.StatusAccepted, maxBody: eventsBody,
		summary: "Add events to the ledger: one, {\"events\": […]}, or NDJSON. With Prefer: respond-sync the answer comes once they are durable",
		in:      reflect.TypeFor[struct{ Body client.EventBatch }](), out: reflect.TypeFor[client.EventsAccepted](),
		serve: func(a *API, c *call) (any, error) { return a.addEvents(c, decoder) },
	}
}

func (a *API) addEvents(c *call, decoder *eventDecoder) (client.EventsAccepted, error) {
	media, err := c.media(eventMedia...)
	if err != nil {
		return client.EventsAccepted{}, err
	}
	batch, unknown, err := decoder.decode(media, c.body)
	if err != nil {
		return client.EventsAccepted{}, err
	}
	sender := senderOf(c)
	for i := range batch {
		batch[i].Sender = sender
	}
	governed := a.Ledger.Govern(c.now, batch)
	out := client.EventsAccepted{Accepted: len(governed.Events), NRefused: len(governed.Refused)}
	for _, r := range governed.Refused[:min(len(governed.Refused), maxRefused)] {
		out.Refused = append(out.Refused, client.RefusedEvent{Index: r.Index, Failure: a.embed(c, r.Err)})
	}
	if len(batch) == 1 && len(governed.Refused) == 1 {
		return out, governed.Refused[0].Err
	}
	receipt, err := a.Ledger.Append(c.r.Context(), governed.Events)
	if err != nil {
		return out, err
	}
	if wantsSync(c.r) {
		if err := receipt.Wait(c.r.Context()); err != nil {
			return out, err
		}
		out.Durable = true
		c.w.Header().Set("Preference-Applied", "respond-sync")
	}
	a.noteDropped(c, unknown, &out)
	return out, nil
}

// wantsSync reports whether the caller waits until its events are durable.
func wantsSync(r *http.Request) bool {
	for _, prefer := range r.Header.Values("Prefer") {
		for word := range strings.SplitSeq(prefer, ",") {
			if strings.EqualFold(strings.TrimSpace(word), "respond-sync") {
				return true
			}
		}
	}
	return false
}

// noteDropped counts what a client says it had to drop before it could send, and
// the fields that events do not have. A batch that comes again because it failed
// tells of the first once more, so nothing is counted before it is accepted.
func (a *API) noteDropped(c *call, unknown int, out *client.EventsAccepted) {
	if n, err := strconv.ParseInt(c.r.Header.Get("X-Recoup-Dropped"), 10, 64); err == nil && n > 0 && n < 1e12 {
		a.Ledger.CountDropped(c.now, "client_buffer_full", n)
	}
	if unknown > 0 {
		a.Ledger.CountDropped(c.now, "unknown_field", int64(unknown))
		out.Dropped = map[string]int{"unknown_field": unknown}
	}
}

// senderOf is what the request itself says for all of its events.
func senderOf(c *call) *ledger.Sender {
	s := &ledger.Sender{Service: c.r.Header.Get("X-Recoup-Service"), Region: c.r.Header.Get("X-Recoup-Region")}
	if ctx, ok := fault.FromContext(c.r.Context()); ok {
		s.Trace, _ = recoup.ParseID(ctx.TraceID)
	}
	return s
}

type eventsIn struct {
	CorrelationID recoup.ID `query:"correlation_id"`
	Service       string    `query:"service"`
	Code          string    `query:"code"`
	From          time.Time `query:"from"`
	To            time.Time `query:"to"`
	page
}

func (a *API) listEvents(c *call, in *eventsIn) (client.EventPage, error) {
	at, err := in.read()
	if err != nil {
		return client.EventPage{}, err
	}
	filter := store.EventFilter{Correlation: in.CorrelationID, Service: in.Service, From: in.From, To: in.To}
	if in.Code != "" {
		if _, filter.Code, err = a.Registrar.Codes().Fold(in.Code); err != nil {
			return client.EventPage{}, fault.Validation(fault.FieldError{Field: "code", Constraint: "pattern", Message: err.Error()})
		}
	}
	events, cursor, err := a.Store.Events(c.r.Context(), filter, at)
	out := client.EventPage{Events: make([]client.StoredEvent, len(events)), Next: next(cursor)}
	for i, e := range events {
		out.Events[i] = client.StoredEvent(e)
	}
	return out, err
}
