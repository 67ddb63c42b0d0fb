package sqlite

import (
	"context"
	"strconv"
	"strings"

	"recoup/internal/store"
)

// Events lists events, newest first, from the index that has the order for the
// most telling of the filter's conditions.
func (s *Store) Events(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Event, store.Cursor, error) {
	text, args := listEvents(f, p.Cursor, p.Size()+1)
	list, err := described(ctx, s, store.Events.Columns, text, args...)
	if err != nil || len(list) <= p.Size() {
		return list, store.Cursor{}, err
	}
	list = list[:p.Size()]
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.TS, ID: last.ID}, nil
}

func listEvents(f store.EventFilter, c store.Cursor, limit int) (string, []any) {
	from, where, args := "error_event", []string{"true"}, []any{}
	require := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if f.Code != "" {
		from = "error_event indexed by error_event_code_idx"
		require("code = ?", string(f.Code))
	}
	if f.Service != "" {
		from = "error_event indexed by error_event_service_idx"
		require("service = ?", f.Service)
	}
	if !f.Correlation.IsZero() {
		from = "error_event indexed by error_event_correlation_idx"
		require("correlation_id = ?", id{&f.Correlation})
	}
	if len(f.Tenants) > 0 {
		hashes := make([]any, len(f.Tenants))
		for i, hash := range f.Tenants {
			hashes[i] = hash
		}
		require("tenant_hash in (?"+strings.Repeat(", ?", len(hashes)-1)+")", hashes...)
	}
	if !f.From.IsZero() {
		require("ts >= ?", micros(f.From))
	}
	if !f.To.IsZero() {
		require("ts < ?", micros(f.To))
	}
	if !c.IsZero() {
		require("(ts, event_id) < (?, ?)", micros(c.At), id{&c.ID})
	}
	return "select " + store.Events.Names("") + " from " + from + " where " + strings.Join(where, " and ") +
		" order by ts desc, event_id desc limit " + strconv.Itoa(limit), args
}
