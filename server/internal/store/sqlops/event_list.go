package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var events = sqldb.NewRepository(store.Events, "event")

// Events lists events, newest first.
//
// On PostgreSQL no index has the order of time: a small one that says where a time may
// be found is all that ingest should pay for. So the list looks back from its newest
// end, at first an hour, and then eight times as far each time, until the page is
// full.
func (v Ops) Events(ctx context.Context, f store.EventFilter, p sqldb.Page) ([]store.Event, sqldb.Cursor, error) {
	spans, err := v.lookBack(ctx, f, p)
	if err != nil {
		return nil, sqldb.Cursor{}, err
	}
	var list []store.Event
	for _, span := range spans {
		part, err := events.List(ctx, v.db, eventsQuery(v.db.Dialect(), f, span, sqldb.Page{Cursor: p.Cursor, Limit: p.Size() - len(list)}))
		if err != nil {
			return nil, sqldb.Cursor{}, err
		}
		if list = append(list, part...); len(list) == p.Size() {
			break
		}
	}
	return list, sqldb.Next(list, p.Size(), func(e *store.Event) sqldb.Cursor { return sqldb.Cursor{At: e.TS, ID: e.ID} }), nil
}

// eventsQuery reads a page within a span. What PostgreSQL's index of a service or a
// code needs is the day.
func eventsQuery(d sqldb.Dialect, f store.EventFilter, span store.Span, p sqldb.Page) *sqldb.Query {
	q := within("list events", events.SelectText())
	switch {
	case !f.Correlation.IsZero():
		q.Add(sqldb.IndexedBy("error_event_correlation_idx") + " where correlation_id = " + q.Arg(f.Correlation))
	case f.Service != "":
		q.Add(sqldb.IndexedBy("error_event_service_idx") + " where true")
	case f.Code != "":
		q.Add(sqldb.IndexedBy("error_event_code_idx") + " where true")
	default:
		q.Add(" where true")
	}
	q.Equal("service", f.Service)
	if len(f.Tenants) > 0 {
		q.OneOf(d, "tenant_hash", f.Tenants)
	}
	q.Equal("code", string(f.Code))
	q.During("ts", span.From, span.To)
	if f.Service != "" || f.Code != "" {
		if !span.From.IsZero() {
			q.Add(" and day >= " + q.Arg(store.Day(span.From)) + "::date")
		}
		if !span.To.IsZero() {
			q.Add(" and day <= " + q.Arg(store.Day(span.To)) + "::date")
		}
	}
	return q.Newest("ts", "event_id", p)
}

// lookBack returns the spans in which a page is looked for, newest first.
func (v Ops) lookBack(ctx context.Context, f store.EventFilter, p sqldb.Page) ([]store.Span, error) {
	end := f.To
	if after := p.Cursor.At.Add(time.Microsecond); !p.Cursor.IsZero() && (end.IsZero() || after.Before(end)) {
		end = after
	}
	if !f.Correlation.IsZero() {
		return []store.Span{{From: f.From, To: end}}, nil
	}
	if end.IsZero() {
		newest, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("list events", `select max(hour) from (select max(hour) as hour from recoup.error_aggregate_hourly
			union all select max(hour) from recoup.error_aggregate_delta) h`), sqldb.Time("hour", func(t *time.Time) *time.Time { return t }))
		if err != nil || newest[0].IsZero() {
			return []store.Span{{From: f.From}}, err
		}
		end = newest[0].Add(time.Hour)
	}
	return spansBefore(end, f.From), nil
}

// spansBefore cuts the time between two moments into spans that grow, newest
// first. A zero from is the beginning of time.
func spansBefore(end, from time.Time) (spans []store.Span) {
	for size := time.Hour; size < 1000*time.Hour; size *= 8 {
		begin := end.Add(-size)
		if !begin.After(from) {
			break
		}
		spans = append(spans, store.Span{From: begin, To: end})
		end = begin
	}
	return append(spans, store.Span{From: from, To: end})
}
