package postgres

import (
	"context"
	"time"

	"recoup/internal/store"
)

// Events lists events, newest first.
//
// No index has the order of time: a small one that says where a time may be
// found is all that ingest should pay for. So the list looks back from its newest
// end, at first an hour, and then eight times as far each time, until the page is
// full.
func (s *Store) Events(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Event, store.Cursor, error) {
	spans, err := s.lookBack(ctx, f, p)
	if err != nil {
		return nil, store.Cursor{}, err
	}
	var list []store.Event
	for _, span := range spans {
		q := &query{}
		q.add("select " + store.Events.Names("") + " from recoup.error_event where true")
		q.events(f, span, p.Cursor)
		q.add(" order by ts desc, event_id desc limit " + q.arg(p.Size()-len(list)))
		rows, err := s.within(ctx, q.String(), q.args...)
		part, err := collectRows("list events", rows, err, decode(eventColumns))
		if err != nil {
			return nil, store.Cursor{}, err
		}
		if list = append(list, part...); len(list) == p.Size() {
			last := &list[len(list)-1]
			return list, store.Cursor{At: last.TS, ID: last.ID}, nil
		}
	}
	return list, store.Cursor{}, nil
}

// events adds the conditions of a filter within a span. What the index of a
// service or a code needs is the day.
func (q *query) events(f store.EventFilter, span store.Span, c store.Cursor) {
	if !f.Correlation.IsZero() {
		q.add(" and correlation_id = " + q.arg(f.Correlation[:]))
	}
	q.equal("service", f.Service)
	if len(f.Tenants) > 0 {
		q.add(" and tenant_hash = any (" + q.arg(f.Tenants) + ")")
	}
	q.equal("code", string(f.Code))
	byDay := f.Service != "" || f.Code != ""
	if !span.From.IsZero() {
		q.add(" and ts >= " + q.arg(span.From))
		if byDay {
			q.add(" and day >= " + q.arg(store.Day(span.From)) + "::date")
		}
	}
	if !span.To.IsZero() {
		q.add(" and ts < " + q.arg(span.To))
		if byDay {
			q.add(" and day <= " + q.arg(store.Day(span.To)) + "::date")
		}
	}
	if !c.IsZero() {
		q.add(" and (ts, event_id) < (" + q.arg(c.At) + ", " + q.arg(c.ID[:]) + ")")
	}
}

// lookBack returns the spans in which a page is looked for, newest first.
func (s *Store) lookBack(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Span, error) {
	end := f.To
	if after := p.Cursor.At.Add(time.Microsecond); !p.Cursor.IsZero() && (end.IsZero() || after.Before(end)) {
		end = after
	}
	if !f.Correlation.IsZero() {
		return []store.Span{{From: f.From, To: end}}, nil
	}
	if end.IsZero() {
		newest, err := s.newestHour(ctx)
		if err != nil || newest.IsZero() {
			return []store.Span{{From: f.From}}, err
		}
		end = newest.Add(time.Hour)
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

// newestHour is the last hour in which something happened, or zero.
func (s *Store) newestHour(ctx context.Context) (time.Time, error) {
	var hour *time.Time
	err := s.pool.QueryRow(ctx, `select greatest((select max(hour) from recoup.error_aggregate_hourly),
		(select max(hour) from recoup.error_aggregate_delta))`).Scan(&hour)
	if err != nil || hour == nil {
		return time.Time{}, failure("list events", err)
	}
	return hour.UTC(), nil
}
