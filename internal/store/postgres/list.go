package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
)

// query is a statement in the making with its parameters.
type query struct {
	strings.Builder
	args []any
}

// add appends text that is ours.
func (q *query) add(sql string) { q.WriteString(sql) }

// arg adds a parameter and returns its placeholder.
func (q *query) arg(value any) string {
	q.args = append(q.args, value)
	return fmt.Sprintf("$%d", len(q.args))
}

// before goes on from a cursor in a list that runs from new to old.
func (q *query) before(column string, c store.Cursor) { q.beyond(column, "<", c) }

// after goes on from a cursor in a list that runs from old to new.
func (q *query) after(column string, c store.Cursor) { q.beyond(column, ">", c) }

func (q *query) beyond(column, sign string, c store.Cursor) {
	if !c.IsZero() {
		q.add(" and (" + column + ", error_id) " + sign + " (" + q.arg(c.At) + ", " + q.arg(c.ID[:]) + ")")
	}
}

// next is where a list goes on after this page, or nowhere.
func next(list []recoup.Error, p store.Page, at func(*recoup.Error) time.Time) store.Cursor {
	if len(list) < p.Size() {
		return store.Cursor{}
	}
	last := &list[len(list)-1]
	return store.Cursor{At: at(last), ID: last.ID}
}

// Errors lists open and resolved errors, newest first. A page of each table, or of
// an entity, is read from an index, and the newest of them are taken: the cost does
// not depend on how many there are.
func (s *Store) Errors(ctx context.Context, f store.Filter, p store.Page) ([]recoup.Error, store.Cursor, error) {
	q := s.listQuery(f, p)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list errors", rows, err, decode(s.sql.errors))
	return list, next(list, p, func(e *recoup.Error) time.Time { return e.CreatedAt }), err
}

func (s *Store) listQuery(f store.Filter, p store.Page) *query {
	q := &query{}
	list := func() { q.filter(f, p); q.newest(p) }
	switch {
	case f.Entity != "" || f.AssignedTo != "":
		s.each(q, "", "true", list)
	case f.State == recoup.Resolved: // few, because sweeps archive them
		s.each(q, "", "error_id in (select r.error_id from recoup.resolved r)", list)
	default:
		s.each(q, "recoup.error_table t", "table_name = t.table_name", list)
		q.tables("t.table_name", f)
		q.some(f)
	}
	q.newest(p)
	return q
}

func (q *query) newest(p store.Page) {
	q.add(" order by created_at desc, error_id desc limit " + q.arg(p.Size()))
}

// each begins a query whose inner part is run for each of a few groups.
func (s *Store) each(q *query, groups, join string, inner func()) {
	if groups != "" {
		groups += " cross join lateral "
	}
	q.add("select " + current(s.sql.errors) + " from " + groups + "(select * from recoup.error where " + join)
	inner()
	q.add(") e" + leaseOf + " where true")
}

// parked restricts to what is parked, in the words of the indexes for it.
const parked = " and parked_at is not null and state in ('PARKED', 'ESCALATED')"

// tables restricts to the tables of a filter.
func (q *query) tables(column string, f store.Filter) {
	q.equal(column, f.Table)
	if len(f.Tables) > 0 {
		q.add(" and " + column + " = any (" + q.arg(f.Tables) + ")")
	}
}

// filter adds the conditions of a filter. States are written out, so that the
// indexes of single states can serve.
func (q *query) filter(f store.Filter, p store.Page) {
	q.tables("table_name", f)
	q.stateIs(f.State)
	q.equal("entity_id", f.Entity)
	q.equal("code", string(f.Code))
	q.equal("assigned_to", f.AssignedTo)
	if f.Tier > 0 {
		q.add(" and escalation_level > 0 and escalation_level = " + q.arg(f.Tier)) // in the words of its index
	}
	q.either(" and blocking", " and not blocking", f.Blocking)
	q.either(parked, " and state not in ('PARKED', 'ESCALATED')", f.Parked)
	if !f.Before.IsZero() {
		q.add(" and created_at < " + q.arg(f.Before))
	}
	if !f.After.IsZero() {
		q.add(" and created_at >= " + q.arg(f.After))
	}
	q.before("created_at", p.Cursor)
}

// some leaves out tables that have nothing of what is asked for: they would be read
// to their end.
func (q *query) some(f store.Filter) {
	if f.Blocking == nil && f.Parked == nil {
		return
	}
	q.add(" and (select sum(n")
	q.either(" - (n - blocking)", " - blocking", f.Blocking)
	q.add(") from recoup.error_count c where c.table_name = t.table_name")
	q.either(" and state in ('PARKED', 'ESCALATED')", " and state not in ('PARKED', 'ESCALATED')", f.Parked)
	q.add(") > 0")
}

// either adds a condition, or its opposite, or none.
func (q *query) either(is, isNot string, which *bool) {
	switch {
	case which == nil:
	case *which:
		q.add(is)
	default:
		q.add(isNot)
	}
}

func (q *query) equal(column, value string) {
	if value != "" {
		q.add(" and " + column + " = " + q.arg(value))
	}
}

// stateIs restricts to a state. A state that does not exist matches nothing.
func (q *query) stateIs(state recoup.State) {
	if state == "" {
		return
	}
	for _, known := range recoup.States() {
		if state == known {
			q.add(" and state = '" + string(known) + "'")
			if known == recoup.Parked || known == recoup.Escalated {
				q.add(" and parked_at is not null")
			}
			return
		}
	}
	q.add(" and false")
}

// ParkQueue lists parked errors of the tables, or of all if none is named,
// longest parked first.
func (s *Store) ParkQueue(ctx context.Context, tables []string, p store.Page) ([]recoup.Error, store.Cursor, error) {
	q := s.parkQuery(tables, p)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list the park queue", rows, err, decode(s.sql.errors))
	return list, next(list, p, func(e *recoup.Error) time.Time { return e.ParkedAt }), err
}

func (s *Store) parkQuery(tables []string, p store.Page) *query {
	q := &query{}
	const order = " order by parked_at, error_id limit "
	s.each(q, "recoup.error_table t", "table_name = t.table_name", func() {
		q.add(parked)
		q.after("parked_at", p.Cursor)
		q.add(order + q.arg(p.Size()))
	})
	q.tables("t.table_name", store.Filter{Tables: tables})
	q.add(order + q.arg(p.Size()))
	return q
}

// lastOf is where a list goes on after this page, or nowhere.
func lastOf[R any](list []R, p store.Page, at func(*R) store.Cursor) store.Cursor {
	if len(list) < p.Size() {
		return store.Cursor{}
	}
	return at(&list[len(list)-1])
}
