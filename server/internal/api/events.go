package api

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// The bounds of a batch of events.
const (
	maxEvents    = 10000
	maxEventLine = 16 << 10
	eventsBody   = 16 << 20
	maxRefused   = 100 // those that an answer names
)

// sendEventsIn is what the document says of the request.
type sendEventsIn struct {
	Prefer  string `header:"Prefer" doc:"respond-sync: answer once the events are durable"`
	Service string `header:"X-Recoup-Service" doc:"the service of events that name none"`
	Region  string `header:"X-Recoup-Region" doc:"the region of events that name none"`
	Dropped string `header:"X-Recoup-Dropped" doc:"how many events the client had to drop before it could send these"`
	Body    recoup.EventBatch
}

// sendEvents takes one event, many in a list, or many as NDJSON. It reads its
// body itself, because there is more than one form of it.
func sendEvents() *httpapi.Route {
	decoder := newEventDecoder()
	send := func(a *API, c *httpapi.Call, _ *struct{}) (recoup.EventsAccepted, error) {
		out, err := a.addEvents(c, decoder)
		return out, c.WithValues(err)
	}
	return httpapi.OpForms[*API, struct{}, sendEventsIn](http.MethodPost, "/v1/events", "Add events to the ledger", send, describeEvents).
		Status(http.StatusAccepted).MaxBody(eventsBody).StaleKeys()
}

func (a *API) addEvents(c *httpapi.Call, decoder *eventDecoder) (recoup.EventsAccepted, error) {
	media, err := c.Media(httpapi.MediaLines...)
	if err != nil {
		return recoup.EventsAccepted{}, err
	}
	batch, err := decoder.decode(c.Context(), media, c.Body)
	if err != nil {
		return recoup.EventsAccepted{}, err
	}
	sender := a.senderOf(c)
	for i := range batch.events {
		batch.events[i].Sender = sender
	}
	if err := a.checkRefused(c, batch, sender); err != nil {
		return recoup.EventsAccepted{}, err
	}
	folded := foldServices(c, batch.events, sender)
	governed, err := a.Ledger.Govern(c.Context(), c.Now, batch.events)
	if err != nil {
		return recoup.EventsAccepted{}, err
	}
	refused := allRefused(batch, &governed)
	out := recoup.EventsAccepted{Accepted: len(governed.Events), NRefused: len(refused)}
	if len(refused) == 1 && out.Accepted == 0 {
		a.countMalformed(c, batch)
		return out, refused[0].err
	}
	named := refused[:min(len(refused), maxRefused)]
	documents := batch.documents(c, named)
	err = turn.Each(c.Context(), len(named), func(i int) error {
		out.Refused = append(out.Refused, recoup.RefusedEvent{Index: named[i].index, Failure: c.ItemFailure(c.WithValuesOf(named[i].err, documents[i]))})
		return nil
	})
	if err != nil {
		return recoup.EventsAccepted{}, err
	}
	receipt, err := a.Ledger.Append(c.Context(), governed.Events)
	if err != nil {
		return out, err
	}
	if c.Prefers("respond-sync") {
		if err := receipt.Wait(c.Context()); err != nil {
			return out, err
		}
		out.Durable = true
	}
	a.countMalformed(c, batch)
	a.noteDropped(c, map[string]int{"unknown_field": batch.unknown, droppedName: folded}, &out)
	return out, nil
}

// checkRefused adds to what is wrong with the form of an event what is wrong with the
// rest of it, for those that the answer names.
func (a *API) checkRefused(c *httpapi.Call, b *eventBatch, sender *ledger.Sender) error {
	return turn.Each(c.Context(), min(len(b.refused), maxRefused), func(i int) error {
		r := &b.refused[i]
		if r.in == nil {
			return nil
		}
		var found fault.FieldErrors
		if r.in.Sender = sender; found.Merge(r.err) {
			found.Merge(httpapi.Located(b.at(r.index), a.Ledger.Check(c.Now, r.in)))
			r.err = found.Err()
		}
		return nil
	})
}

// allRefused lists everything that is refused of a batch, by the place that it has.
func allRefused(b *eventBatch, governed *ledger.Governed) []refusedEvent {
	list := slices.Clone(b.refused)
	for _, r := range governed.Refused {
		index := b.place(r.Index)
		list = append(list, refusedEvent{index: index, err: httpapi.Located(b.at(index), r.Err)})
	}
	slices.SortFunc(list, func(x, y refusedEvent) int { return cmp.Compare(x.index, y.index) })
	return list
}

// countMalformed counts what could not be read as events. The governor counts what
// it refuses.
func (a *API) countMalformed(c *httpapi.Call, b *eventBatch) {
	if n := len(b.refused); n > 0 {
		a.Ledger.CountDropped(c.Now, ledger.DropMalformed, int64(n))
	}
}

// noteDropped counts what a client says it had to drop before it could send, and
// the parts of events that were left out, by reason. A batch that comes again because it failed
// sends the first once more, so nothing is counted before it is accepted.
func (a *API) noteDropped(c *httpapi.Call, parts map[string]int, out *recoup.EventsAccepted) {
	if n, err := strconv.ParseInt(c.Request.Header.Get("X-Recoup-Dropped"), 10, 64); err == nil && n > 0 && n < 1e12 {
		a.Ledger.CountDropped(c.Now, "client_buffer_full", n)
	}
	for reason, n := range parts {
		if n == 0 {
			continue
		}
		a.Ledger.CountDropped(c.Now, reason, int64(n))
		if out.Dropped == nil {
			out.Dropped = map[string]int{}
		}
		out.Dropped[reason] = n
	}
}

// senderOf is what the request itself says for all of its events.
func (a *API) senderOf(c *httpapi.Call) *ledger.Sender {
	s := &ledger.Sender{Service: c.Request.Header.Get("X-Recoup-Service"), Region: c.Request.Header.Get("X-Recoup-Region")}
	s.Trace = c.TraceID()
	if len(c.Caller.Hubs) > 0 {
		s.OwnsService = func(service string) bool { return a.Engine.OwnsService(c.Caller, service) }
		s.OwnsProvider = func(provider string) bool { return a.Engine.OwnsProvider(c.Caller, provider) }
	}
	return s
}

type eventsIn struct {
	recoup.EventFilter
	httpapi.Page
}

func (a *API) listEvents(c *httpapi.Call, in *eventsIn) (recoup.EventPage, error) {
	query, err := a.eventQuery(c.Now, in)
	if err != nil {
		return recoup.EventPage{}, err
	}
	return a.readEvents(c, query)
}

// eventQuery is a list of events that may be asked for.
type eventQuery struct {
	filter   store.EventFilter
	reported recoup.Code // a name that nobody has registered
	page     sqldb.Page
}

func (a *API) eventQuery(now time.Time, in *eventsIn) (eventQuery, error) {
	at, err := in.StorePage()
	q := eventQuery{page: at, filter: store.EventFilter{Correlation: in.CorrelationID, Service: in.Service, From: in.From, To: in.To}}
	if err == nil && in.Tenant != "" {
		err = a.ofTenant(&q.filter, in.Tenant, now)
	}
	if in.Code == "" || err != nil {
		return q, err
	}
	def, name, err := a.Registrar.Codes().Fold(in.Code)
	if err != nil {
		return q, fault.BadField("code", "pattern", "%s", err.Error())
	}
	if q.filter.Code = def.Code; name != def.Code {
		q.reported = name
	}
	return q, nil
}

// tenantSpan is how far a search for a tenant may reach: no index helps it.
const tenantSpan = 31 * 24 * time.Hour

// ofTenant restricts a list to a tenant.
func (a *API) ofTenant(f *store.EventFilter, tenant string, now time.Time) error {
	switch {
	case f.To.IsZero() && f.From.IsZero():
		f.From = now.Add(-tenantSpan + 24*time.Hour) // events may be dated a day ahead
		f.To = f.From.Add(tenantSpan)
	case f.To.IsZero():
		f.To = f.From.Add(tenantSpan)
	case f.From.IsZero():
		f.From = f.To.Add(-tenantSpan)
	}
	if f.To.Sub(f.From) > tenantSpan {
		return fault.BadField("from", "range", "a search for a tenant covers at most 31 days")
	}
	f.Tenants = a.Ledger.TenantHashes(tenant)
	return nil
}

// readEvents returns a page of events. Those of a code that is not registered are
// picked out of all such, so a page of them may be short and not the last.
func (a *API) readEvents(c *httpapi.Call, q eventQuery) (recoup.EventPage, error) {
	events, cursor, err := a.Store.Events(c.Context(), q.filter, q.page)
	if q.reported != "" {
		events = slices.DeleteFunc(events, func(e store.Event) bool { return e.ReportedCode != q.reported })
	}
	return recoup.EventPage{Events: httpapi.Listed(events), Next: httpapi.NextCursor(cursor)}, err
}

// droppedName is the reason for which the service of an event is replaced.
const droppedName = "new_service_limit"

// foldServices puts the events of services that the key may not make up any more
// under one name, so that they count and cost no more than one. It returns how many
// there were.
func foldServices(c *httpapi.Call, batch []ledger.Incoming, sender *ledger.Sender) (folded int) {
	for i := range batch {
		if c.CheckName("service", cmp.Or(batch[i].Service, sender.Service)) != nil {
			batch[i].Service = alert.Other
			folded++
		}
	}
	return folded
}

// describeEvents documents the forms in which events come. A header may name the
// service of all of them.
func describeEvents(registry huma.Registry, _ *huma.Schema) map[string]*huma.MediaType {
	event := *registry.Schema(reflect.TypeFor[recoup.Event](), false, "")
	event.Required = []string{"code"}
	many := &huma.Schema{Type: huma.TypeArray, Description: "the events; each is checked by itself", Items: &event, MaxItems: new(maxEvents)}
	named := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"events": many}, Required: []string{"events"}, AdditionalProperties: false}
	return map[string]*huma.MediaType{
		fault.MediaJSON:     {Schema: &huma.Schema{OneOf: []*huma.Schema{&event, many, named}}},
		httpapi.MediaNDJSON: {Schema: &event},
	}
}
