package sqlops

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Errors lists open and resolved errors, newest first. A page of each table, or of
// an entity, is read from an index, and the newest of them are taken: the cost does
// not depend on how many there are.
func (v Ops) Errors(ctx context.Context, f store.Filter, p store.Page) ([]recoup.Error, store.Cursor, error) {
	return current.page(ctx, v, errorsQuery(f, p), p, func(e *recoup.Error) store.Cursor { return store.Cursor{At: e.CreatedAt, ID: e.ID} })
}

func errorsQuery(f store.Filter, p store.Page) *Query {
	from, index, where := "", "", "true"
	switch {
	case f.Entity != "":
		index = by("error_entity_idx")
	case len(f.Groups) > 0:
		from, index, where = eachGroup, by("error_group_idx"), "e.group_id = t.group_id"
	case !f.Group.IsZero():
		index = by("error_group_idx")
	case f.AssignedTo != "":
		index = by("error_assigned_idx")
	case f.State == recoup.Resolved: // few, because sweeps archive them
		where = "e.error_id in (select r.error_id from recoup.resolved r)"
	default:
		from, index, where = eachTable, by(listIndex(f)), "e.table_name = t.table_name"
	}
	q := ask("list errors", "select "+current.Names("")+" from "+from+"(select * from recoup.error e"+index+" where "+where)
	if from == "" {
		q.tables("e.table_name", f)
	}
	q.errors(f, p.Cursor)
	order := " order by e.created_at desc, e.error_id desc limit " + q.arg(p.Size())
	q.add(order + ") e" + leaseOf + " where true")
	if from != "" {
		q.tables("t.table_name", f)
		q.some(f)
	}
	if from == eachGroup {
		q.anyOf("t.group_id", f.Groups)
	}
	return q.add(order)
}

// listIndex is the index that SQLite reads of each table: that of the rarest thing that
// is asked for.
func listIndex(f store.Filter) string {
	switch {
	case f.Tier > 0:
		return "error_tier_idx"
	case f.Code != "":
		return "error_code_idx"
	case f.State == recoup.Parked, f.State == recoup.Escalated, f.Parked != nil && *f.Parked:
		return "error_parked_list_idx"
	}
	return "error_list_idx"
}

// eachTable comes before a page that is read of each table t.
const eachTable = "recoup.error_table t cross join lateral "

// eachGroup comes before a page that is read of each of some groups t.
const eachGroup = "recoup.error_group t cross join lateral "

// tables restricts to the tables of a filter.
func (q *Query) tables(column string, f store.Filter) {
	q.equal(column, f.Table)
	if len(f.Tables) > 0 {
		q.add(" and " + column + " = any (" + q.arg(f.Tables) + "::text[])")
	}
}

// parked is what is parked, in the words of the indexes for it.
const parked = " and e.parked_at is not null and e.state in ('PARKED', 'ESCALATED')"

// errors adds the conditions of a filter on errors e, behind a cursor.
func (q *Query) errors(f store.Filter, c store.Cursor) {
	q.stateIs(f.State)
	q.equal("e.entity_id", f.Entity)
	q.equal("e.code", string(f.Code))
	q.equal("e.assigned_to", f.AssignedTo)
	if !f.Group.IsZero() {
		q.add(" and e.group_id = " + q.arg(f.Group))
	}
	switch {
	case f.Text != "" && len(f.Groups) == 0:
		q.add(" and false")
	case f.Entity != "" && len(f.Groups) > 0:
		q.anyOf("e.group_id", f.Groups)
	}
	if f.Tier > 0 {
		q.add(" and e.escalation_level > 0 and e.escalation_level = " + q.arg(f.Tier)) // in the words of its index
	}
	q.either(" and e.blocking", " and not e.blocking", f.Blocking)
	q.either(parked, " and e.state not in ('PARKED', 'ESCALATED')", f.Parked)
	q.during("e.created_at", f.After, f.Before)
	q.past("e.created_at", "e.error_id", c)
}

// some leaves out tables that have nothing of what is asked for: they would be read
// to their end.
func (q *Query) some(f store.Filter) {
	if f.Blocking == nil && f.Parked == nil && f.State == "" {
		return
	}
	q.add(" and (select sum(n")
	q.either(" - (n - blocking)", " - blocking", f.Blocking)
	q.add(") from recoup.error_count c where c.table_name = t.table_name")
	q.equal("state", string(f.State))
	q.either(" and state in ('PARKED', 'ESCALATED')", " and state not in ('PARKED', 'ESCALATED')", f.Parked)
	q.add(") > 0")
}

// either adds a condition, or its opposite, or none.
func (q *Query) either(is, isNot string, which *bool) {
	switch {
	case which == nil:
	case *which:
		q.add(is)
	default:
		q.add(isNot)
	}
}

// stateIs restricts to a state, which is written out, so that the indexes of single
// states can serve. A state that does not exist matches nothing.
func (q *Query) stateIs(state recoup.State) {
	switch {
	case state == "":
	case !slices.Contains(recoup.States(), state):
		q.add(" and false")
	default:
		q.add(" and e.state = '" + string(state) + "'")
		if state == recoup.Parked || state == recoup.Escalated {
			q.add(" and e.parked_at is not null")
		}
	}
}

// ParkQueue lists parked errors of the tables, or of all if none is named,
// longest parked first.
func (v Ops) ParkQueue(ctx context.Context, tables []string, p store.Page) ([]recoup.Error, store.Cursor, error) {
	q := ask("list the park queue", "select "+current.Names("")+" from "+eachTable+
		"(select * from recoup.error e /*by error_park_idx*/ where e.table_name = t.table_name"+parked)
	if !p.Cursor.IsZero() {
		q.add(" and (e.parked_at, e.error_id) > (" + q.arg(p.Cursor.At) + ", " + q.arg(p.Cursor.ID) + ")")
	}
	order := " order by e.parked_at, e.error_id limit " + q.arg(p.Size())
	q.add(order + ") e" + leaseOf + " where true")
	q.tables("t.table_name", store.Filter{Tables: tables})
	return current.page(ctx, v, q.add(order), p, func(e *recoup.Error) store.Cursor { return store.Cursor{At: e.ParkedAt, ID: e.ID} })
}
