package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
)

// maxArms is the most arms that SQLite allows a compound select.
const maxArms = 500

// listing is a page of a list in the making. It is read from one index that has
// its order, or merged from several stretches of one, its arms: SQLite merges as
// it goes, and reads no more of each than the page needs.
type listing struct {
	columns []column
	from    string // the table, and the index that has the order
	key     string // the time that comes first in the order
	at      func(*recoup.Error) time.Time
	oldest  bool // first; else newest
	where   []string
	arms    []string
	args    []any
}

// arg adds an argument and returns the parameter that stands for it, in as many
// arms as need it.
func (l *listing) arg(v any) string {
	l.args = append(l.args, v)
	return parameter(len(l.args))
}

func parameter(n int) string { return "?" + strconv.Itoa(n) }

func (l *listing) require(condition string) { l.where = append(l.where, condition) }

// among requires a row to be in one of the tables, if any are named, and in one
// of the states.
func (l *listing) among(tables, states []string) {
	if len(tables) > 0 {
		l.oneOf("table_name", tables)
	}
	if len(states) < len(storedStates()) {
		l.oneOf("state", states)
	}
}

// oneOf requires a column to have one of the values. The plus keeps the planner
// from leaving the index that has the order.
func (l *listing) oneOf(column string, values []string) {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = l.arg(v)
	}
	l.require("+" + column + " in (" + strings.Join(list, ", ") + ")")
}

// after begins the page behind the last row seen.
func (l *listing) after(c store.Cursor) {
	if c.IsZero() {
		return
	}
	comparison := " < "
	if l.oldest {
		comparison = " > "
	}
	l.require("(" + l.key + ", error_id)" + comparison + "(" + l.arg(micros(c.At)) + ", " + l.arg(id{&c.ID}) + ")")
}

// text returns the statement that reads a page of this size.
func (l *listing) text(size int) string {
	arms := l.arms
	if len(arms) == 0 {
		arms = []string{"true"}
	}
	selects := make([]string, len(arms))
	for i, arm := range arms {
		conditions := append([]string{arm}, l.where...)
		selects[i] = "select " + names(l.columns) + " from " + l.from + " where " + strings.Join(conditions, " and ")
	}
	order := " desc"
	if l.oldest {
		order = ""
	}
	return strings.Join(selects, " union all ") +
		" order by " + l.key + order + ", error_id" + order + " limit " + strconv.Itoa(size)
}

// page reads the page and returns where the next one begins; the cursor of the
// last page is zero. One row more than the page has tells whether it is.
func (l *listing) page(ctx context.Context, s *Store, p store.Page) ([]recoup.Error, store.Cursor, error) {
	l.after(p.Cursor)
	rows, err := s.read.QueryContext(ctx, l.text(p.Size()+1), l.args...)
	if err != nil {
		return nil, store.Cursor{}, translate(err)
	}
	list, err := collect(rows, func(e *recoup.Error) []any { return fields(l.columns, e) })
	if err != nil || len(list) <= p.Size() {
		return list, store.Cursor{}, translate(err)
	}
	list = list[:p.Size()]
	last := &list[len(list)-1]
	return list, store.Cursor{At: l.at(last), ID: last.ID}, nil
}

// Errors lists open and resolved errors, newest first.
func (s *Store) Errors(ctx context.Context, f store.Filter, p store.Page) ([]recoup.Error, store.Cursor, error) {
	states, tables := statesOf(f), tablesOf(f)
	if len(states) == 0 || len(tables) == 0 && f.Table != "" {
		return nil, store.Cursor{}, nil
	}
	if len(tables) == 0 && f.Entity == "" && (f.Code != "" || f.Tier > 0 || filed(states)) {
		known, err := s.tables(ctx)
		if err != nil {
			return nil, store.Cursor{}, err
		}
		tables = known
	}
	return listErrors(f, tables, states).page(ctx, s, p)
}

// tables returns the names of all tables that there are or were.
func (s *Store) tables(ctx context.Context) ([]string, error) {
	return query(ctx, s, func(name *string) []any { return []any{name} }, `select table_name from error_table`)
}

// filed reports whether errors of these states have an index of their own.
func filed(states []string) bool {
	for _, s := range states {
		if s == string(recoup.RetryPending) || s == string(recoup.Resolved) {
			return false
		}
	}
	return true
}

// listErrors chooses the index: the entity's or the assignee's, that of what waits
// for the archive, a stretch for each table and tier or state, or for each table that
// is asked for, else that of all errors. What is resolved is sorted: it is what came since the
// last sweep.
func listErrors(f store.Filter, tables, states []string) *listing {
	l := &listing{columns: errorColumns, key: "created_at", at: func(e *recoup.Error) time.Time { return e.CreatedAt }}
	switch {
	case f.Entity != "":
		l.from = "error indexed by error_entity_idx"
		l.require("entity_id = " + l.arg(f.Entity))
		l.among(tables, states)
	case f.AssignedTo != "":
		l.from = "error indexed by error_assigned_idx"
		l.among(tables, states)
	case slices.Equal(states, []string{string(recoup.Resolved)}):
		l.from = "error indexed by error_resolved_idx"
		l.require("state = 'RESOLVED'")
		l.among(tables, statesOf(store.Filter{}))
	case f.Tier > 0 && len(tables) > 0 && len(tables) <= maxArms:
		l.from = "error indexed by error_tier_idx"
		l.require("escalation_level > 0")
		l.among(nil, states)
		tier := l.arg(f.Tier)
		for _, table := range tables {
			l.arms = append(l.arms, "table_name = "+l.arg(table)+" and escalation_level = "+tier)
		}
	case f.Code == "" && len(tables) > 0 && len(tables)*len(states) <= maxArms && filed(states):
		l.from = "error indexed by error_state_idx"
		l.require("state <> 'RETRY_PENDING' and state <> 'RESOLVED'")
		for _, table := range tables {
			for _, state := range states {
				l.arms = append(l.arms, "table_name = "+l.arg(table)+" and state = "+l.arg(state))
			}
		}
	case len(tables) > 0 && len(tables) <= maxArms:
		l.from = "error indexed by error_list_idx"
		l.among(nil, states)
		for _, table := range tables {
			l.arms = append(l.arms, "table_name = "+l.arg(table))
		}
	default:
		l.from = "error indexed by error_created_idx"
		l.among(tables, states)
	}
	l.filter(f)
	return l
}

// filter adds the conditions that no index is chosen for.
func (l *listing) filter(f store.Filter) {
	if f.Code != "" {
		l.require("code = " + l.arg(string(f.Code)))
	}
	if f.AssignedTo != "" {
		l.require("assigned_to = " + l.arg(f.AssignedTo))
	}
	if f.Tier != 0 {
		l.require("escalation_level = " + l.arg(f.Tier))
	}
	if f.Blocking != nil {
		l.require(map[bool]string{true: "blocking", false: "not blocking"}[*f.Blocking])
	}
	if !f.Before.IsZero() {
		l.require("created_at < " + l.arg(micros(f.Before)))
	}
	if !f.After.IsZero() {
		l.require("created_at >= " + l.arg(micros(f.After)))
	}
}

// storedStates are the states of errors that are not archived.
func storedStates() []recoup.State {
	return slices.DeleteFunc(recoup.States(), func(s recoup.State) bool { return s == recoup.Archived })
}

// statesOf returns the states that a filter lets pass.
func statesOf(f store.Filter) []string {
	var list []string
	for _, s := range storedStates() {
		if (f.State == "" || f.State == s) && (f.Parked == nil || *f.Parked == (s == recoup.Parked || s == recoup.Escalated)) {
			list = append(list, string(s))
		}
	}
	return list
}

// tablesOf returns the tables that a filter names; none if it names none, or
// none that meets both of its conditions.
func tablesOf(f store.Filter) []string {
	switch {
	case f.Table == "":
		return slices.Compact(slices.Sorted(slices.Values(f.Tables)))
	case len(f.Tables) == 0 || slices.Contains(f.Tables, f.Table):
		return []string{f.Table}
	}
	return nil
}

// ParkQueue lists parked errors of the tables, or of all if none is named,
// longest parked first. It can merge 500 tables.
func (s *Store) ParkQueue(ctx context.Context, tables []string, p store.Page) ([]recoup.Error, store.Cursor, error) {
	if len(tables) == 0 {
		known, err := s.tables(ctx)
		if err != nil || len(known) == 0 {
			return nil, store.Cursor{}, err
		}
		tables = known
	}
	return listParked(tables).page(ctx, s, p)
}

func listParked(tables []string) *listing {
	l := &listing{
		columns: errorColumns, from: "error indexed by error_park_idx", oldest: true,
		key: "parked_at", at: func(e *recoup.Error) time.Time { return e.ParkedAt },
	}
	l.require("state in ('PARKED', 'ESCALATED')")
	for _, table := range tables {
		l.arms = append(l.arms, "table_name = "+l.arg(table))
	}
	return l
}

// Archived lists the archive of a table, newest first.
func (s *Store) Archived(ctx context.Context, table string, p store.Page) ([]recoup.Error, store.Cursor, error) {
	return listArchived(table).page(ctx, s, p)
}

func listArchived(table string) *listing {
	l := &listing{
		columns: archivedColumns, from: "error_archive indexed by error_archive_table_idx",
		key: "archived_at", at: func(e *recoup.Error) time.Time { return e.ArchivedAt },
	}
	l.require("table_name = " + l.arg(table))
	return l
}
