package api

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
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
	Body    client.EventBatch
}

// sendEvents takes one event, many in a list, or many as NDJSON. It reads its
// body itself, because there is more than one form of it.
func sendEvents() *route {
	decoder := newEventDecoder()
	return &route{
		method: http.MethodPost, path: "/v1/events", status: http.StatusAccepted, maxBody: eventsBody, carried: true,
		summary: "Add events to the ledger",
		in:      reflect.TypeFor[sendEventsIn](), out: reflect.TypeFor[client.EventsAccepted](),
		serve: func(a *API, c *call) (any, error) {
			out, err := a.addEvents(c, decoder)
			return out, c.illustrated(err)
		},
	}
}

// bare refuses parameters in the query: this route has none.
func bare(a *API, c *call) error {
	none := newBinder(reflect.TypeFor[struct{}]())
	return none.read(a, c, reflect.ValueOf(&struct{}{}).Elem())
}

func (a *API) addEvents(c *call, decoder *eventDecoder) (client.EventsAccepted, error) {
	if err := bare(a, c); err != nil {
		return client.EventsAccepted{}, err
	}
	media, err := c.media(eventMedia...)
	if err != nil {
		return client.EventsAccepted{}, err
	}
	batch, err := decoder.decode(c.r.Context(), media, c.body)
	if err != nil {
		return client.EventsAccepted{}, err
	}
	sender := a.senderOf(c)
	for i := range batch.events {
		batch.events[i].Sender = sender
	}
	if err := a.checkRefused(c, batch, sender); err != nil {
		return client.EventsAccepted{}, err
	}
	folded := a.foldServices(c, batch.events, sender)
	governed, err := a.Ledger.Govern(c.r.Context(), c.now, batch.events)
	if err != nil {
		return client.EventsAccepted{}, err
	}
	refused := allRefused(batch, &governed)
	out := client.EventsAccepted{Accepted: len(governed.Events), NRefused: len(refused)}
	if len(refused) == 1 && out.Accepted == 0 {
		a.countMalformed(c, batch)
		return out, refused[0].err
	}
	named := refused[:min(len(refused), maxRefused)]
	documents := batch.documents(c, named)
	err = turn.Each(c.r.Context(), len(named), func(i int) error {
		out.Refused = append(out.Refused, client.RefusedEvent{Index: named[i].index, Failure: a.embed(c, c.illustratedBy(named[i].err, documents[i]))})
		return nil
	})
	if err != nil {
		return client.EventsAccepted{}, err
	}
	receipt, err := a.Ledger.Append(c.r.Context(), governed.Events)
	if err != nil {
		return out, err
	}
	if prefers(c, "respond-sync") {
		if err := receipt.Wait(c.r.Context()); err != nil {
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
func (a *API) checkRefused(c *call, b *eventBatch, sender *ledger.Sender) error {
	return turn.Each(c.r.Context(), min(len(b.refused), maxRefused), func(i int) error {
		r := &b.refused[i]
		if r.in == nil {
			return nil
		}
		var found fault.FieldErrors
		if r.in.Sender = sender; found.Merge(r.err) {
			found.Merge(located(b.at(r.index), a.Ledger.Check(c.now, r.in)))
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
		list = append(list, refusedEvent{index: index, err: located(b.at(index), r.Err)})
	}
	slices.SortFunc(list, func(x, y refusedEvent) int { return cmp.Compare(x.index, y.index) })
	return list
}

// countMalformed counts what could not be read as events. The governor counts what
// it refuses.
func (a *API) countMalformed(c *call, b *eventBatch) {
	if n := len(b.refused); n > 0 {
		a.Ledger.CountDropped(c.now, ledger.DropMalformed, int64(n))
	}
}

// prefers reports whether the caller prefers to be answered in a way that there is,
// and says in the answer that it is.
func prefers(c *call, way string) bool {
	for _, prefer := range c.r.Header.Values("Prefer") {
		for word := range strings.SplitSeq(prefer, ",") {
			if strings.EqualFold(strings.TrimSpace(word), way) {
				c.w.Header().Set("Preference-Applied", way)
				return true
			}
		}
	}
	return false
}

// noteDropped counts what a client says it had to drop before it could send, and
// the parts of events that were left out, by reason. A batch that comes again because it failed
// sends the first once more, so nothing is counted before it is accepted.
func (a *API) noteDropped(c *call, parts map[string]int, out *client.EventsAccepted) {
	if n, err := strconv.ParseInt(c.r.Header.Get("X-Recoup-Dropped"), 10, 64); err == nil && n > 0 && n < 1e12 {
		a.Ledger.CountDropped(c.now, "client_buffer_full", n)
	}
	for reason, n := range parts {
		if n == 0 {
			continue
		}
		a.Ledger.CountDropped(c.now, reason, int64(n))
		if out.Dropped == nil {
			out.Dropped = map[string]int{}
		}
		out.Dropped[reason] = n
	}
}

// senderOf is what the request itself says for all of its events.
func (a *API) senderOf(c *call) *ledger.Sender {
	s := &ledger.Sender{Service: c.r.Header.Get("X-Recoup-Service"), Region: c.r.Header.Get("X-Recoup-Region")}
	s.Trace = c.trace()
	if len(c.caller.Hubs) > 0 {
		s.OwnsService = func(service string) bool { return a.Engine.OwnsService(c.caller, service) }
		s.OwnsProvider = func(provider string) bool { return a.Engine.OwnsProvider(c.caller, provider) }
	}
	return s
}

// trace is the request's trace, as an id.
func (c *call) trace() (id recoup.ID) {
	if ctx, ok := fault.FromContext(c.r.Context()); ok {
		if b, err := hex.DecodeString(ctx.TraceID); err == nil && len(b) == len(id) {
			return recoup.ID(b)
		}
	}
	return id
}

type eventsIn struct {
	client.EventFilter
	page
}

func (a *API) listEvents(c *call, in *eventsIn) (client.EventPage, error) {
	query, err := a.eventQuery(c.now, in)
	if err != nil {
		return client.EventPage{}, err
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
	at, err := in.read()
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
func (a *API) readEvents(c *call, q eventQuery) (client.EventPage, error) {
	events, cursor, err := a.Store.Events(c.r.Context(), q.filter, q.page)
	if q.reported != "" {
		events = slices.DeleteFunc(events, func(e store.Event) bool { return e.ReportedCode != q.reported })
	}
	return client.EventPage{Events: listed(events), Next: next(cursor)}, err
}
