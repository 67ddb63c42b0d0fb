package sqlops

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Errors lists open and resolved errors, newest first. A page of each table, or of
// an entity, is read from an index, and the newest of them are taken: the cost does
// not depend on how many there are.
func (v Ops) Errors(ctx context.Context, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	d := v.db.Dialect()
	return current(d).Page(ctx, v.db, errorsQuery(d, f, p), p, func(e *recoup.Error) sqldb.Cursor { return sqldb.Cursor{At: e.CreatedAt, ID: e.ID} })
}

func errorsQuery(d sqldb.Dialect, f store.Filter, p sqldb.Page) *sqldb.Query {
	each, index, where := "", "", "true"
	switch {
	case f.Entity != "":
		index = sqldb.IndexedBy("error_entity_idx")
	case len(f.Groups) > 0:
		each, index, where = eachGroup, sqldb.IndexedBy("error_group_idx"), "e.group_id = t.group_id"
	case !f.Group.IsZero():
		index = sqldb.IndexedBy("error_group_idx")
	case f.AssignedTo != "":
		index = sqldb.IndexedBy("error_assigned_idx")
	case f.State == recoup.Resolved: // few, because sweeps archive them
		where = "e.error_id in (select r.error_id from recoup.resolved r)"
	default:
		each, index, where = eachTable, sqldb.IndexedBy(listIndex(f)), "e.table_name = t.table_name"
	}
	begin, end := pageOfErrors(d, each)
	q := sqldb.NewQuery("list errors", "select "+current(d).Names("")+" from "+begin+index+" where "+where)
	if each == "" {
		inTables(q, d, "e.table_name", f)
	}
	errorsMatch(q, d, f, p.Cursor)
	order := " order by e.created_at desc, e.error_id desc limit " + q.Arg(p.Size())
	q.Add(order + end + leaseOf(d) + " where true")
	if each != "" {
		inTables(q, d, "t.table_name", f)
		haveSome(q, f)
	}
	if each == eachGroup {
		q.AnyOf(d, "t.group_id", f.Groups)
	}
	return q.Add(order)
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

// A page is read of each table t, or of each of some groups t.
const (
	eachTable = "recoup.error_table t"
	eachGroup = "recoup.error_group t"
)

// pageOfErrors begins and ends the page of errors e that is read, of each row of a table
// if one is named.
func pageOfErrors(d sqldb.Dialect, each string) (begin, end string) {
	if each == "" {
		return "(select * from recoup.error e", ") e"
	}
	begin, end = d.FirstOfEach("*", "recoup.error", "e", "rowid")
	return each + " " + begin, end
}

// inTables restricts to the tables of a filter.
func inTables(q *sqldb.Query, d sqldb.Dialect, column string, f store.Filter) {
	q.Equal(column, f.Table)
	if len(f.Tables) > 0 {
		q.Add(" and " + column + d.AnyText(q.Arg(f.Tables)))
	}
}

// parked is what is parked, in the words of the indexes for it.
const parked = " and e.parked_at is not null and e.state in ('PARKED', 'ESCALATED')"

// errorsMatch adds the conditions of a filter on errors e, behind a cursor.
func errorsMatch(q *sqldb.Query, d sqldb.Dialect, f store.Filter, c sqldb.Cursor) {
	stateIs(q, f.State)
	q.Equal("e.entity_id", f.Entity)
	q.Equal("e.code", string(f.Code))
	q.Equal("e.assigned_to", f.AssignedTo)
	if !f.Group.IsZero() {
		q.Add(" and e.group_id = " + q.Arg(f.Group))
	}
	switch {
	case f.Text != "" && len(f.Groups) == 0:
		q.Add(" and false")
	case f.Entity != "" && len(f.Groups) > 0:
		q.AnyOf(d, "e.group_id", f.Groups)
	}
	if f.Tier > 0 {
		q.Add(" and e.escalation_level > 0 and e.escalation_level = " + q.Arg(f.Tier)) // in the words of its index
	}
	q.Either(" and e.blocking", " and not e.blocking", f.Blocking)
	q.Either(parked, " and e.state not in ('PARKED', 'ESCALATED')", f.Parked)
	q.During("e.created_at", f.After, f.Before)
	q.Past("e.created_at", "e.error_id", c)
}

// haveSome leaves out tables that have nothing of what is asked for: they would be read
// to their end.
func haveSome(q *sqldb.Query, f store.Filter) {
	if f.Blocking == nil && f.Parked == nil && f.State == "" {
		return
	}
	q.Add(" and (select sum(n")
	q.Either(" - (n - blocking)", " - blocking", f.Blocking)
	q.Add(") from recoup.error_count c where c.table_name = t.table_name")
	q.Equal("state", string(f.State))
	q.Either(" and state in ('PARKED', 'ESCALATED')", " and state not in ('PARKED', 'ESCALATED')", f.Parked)
	q.Add(") > 0")
}

// stateIs restricts to a state, which is written out, so that the indexes of single
// states can serve. A state that does not exist matches nothing.
func stateIs(q *sqldb.Query, state recoup.State) {
	switch {
	case state == "":
	case !slices.Contains(recoup.States(), state):
		q.Add(" and false")
	default:
		q.Add(" and e.state = '" + string(state) + "'")
		if state == recoup.Parked || state == recoup.Escalated {
			q.Add(" and e.parked_at is not null")
		}
	}
}

// ParkQueue lists parked errors of the tables, or of all if none is named,
// longest parked first.
func (v Ops) ParkQueue(ctx context.Context, tables []string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	d := v.db.Dialect()
	begin, end := pageOfErrors(d, eachTable)
	q := sqldb.NewQuery("list the park queue", "select "+current(d).Names("")+" from "+begin+
		" /*by error_park_idx*/ where e.table_name = t.table_name"+parked)
	if !p.Cursor.IsZero() {
		q.Add(" and (e.parked_at, e.error_id) > (" + q.Arg(p.Cursor.At) + ", " + q.Arg(p.Cursor.ID) + ")")
	}
	order := " order by e.parked_at, e.error_id limit " + q.Arg(p.Size())
	q.Add(order + end + leaseOf(d) + " where true")
	inTables(q, d, "t.table_name", store.Filter{Tables: tables})
	return current(d).Page(ctx, v.db, q.Add(order), p, func(e *recoup.Error) sqldb.Cursor { return sqldb.Cursor{At: e.ParkedAt, ID: e.ID} })
}
