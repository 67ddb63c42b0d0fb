package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var errorGroups = sqldb.NewRepository(store.ErrorGroups, "group of errors")

// ErrorGroup returns a group of errors.
func (v Ops) ErrorGroup(ctx context.Context, id recoup.ID) (recoup.ErrorGroup, error) {
	return errorGroups.Get(ctx, v.db, errorGroups.Select("read a group of errors", "where group_id = $1", id), id.String())
}

// ErrorGroups lists groups of errors in an order. As with errors a page of each table is
// read from an index, and the first of them are taken.
func (v Ops) ErrorGroups(ctx context.Context, f store.ErrorGroupFilter, p sqldb.Page) ([]recoup.ErrorGroup, sqldb.Cursor, error) {
	return errorGroups.Page(ctx, v.db, errorGroupsQuery(v.db.Dialect(), f, p), p, func(g *recoup.ErrorGroup) sqldb.Cursor {
		if f.Order == recoup.GroupsBySeen {
			return sqldb.Cursor{At: g.LastSeenAt, ID: g.ID}
		}
		return store.OpenCursor(g)
	})
}

func errorGroupsQuery(d sqldb.Dialect, f store.ErrorGroupFilter, p sqldb.Page) *sqldb.Query {
	by, index := "g.open", "open_idx"
	if f.Order == recoup.GroupsBySeen {
		by, index = "g.last_seen_at", "seen_idx"
	}
	if f.Code != "" {
		index = "code_" + index
	}
	begin, end := d.FirstOfEach("*", "recoup.error_group", "g", "rowid")
	q := sqldb.NewQuery("list groups of errors", "select "+errorGroups.Names("g.")+" from "+eachTable+" "+begin+
		" /*by error_group_"+index+"*/ where g.table_name = t.table_name")
	q.Equal("g.code", string(f.Code))
	hasState(q, f.State)
	if c := p.Cursor; !c.IsZero() {
		at := any(c.At)
		if f.Order != recoup.GroupsBySeen {
			at = c.At.UnixMicro()
		}
		q.Add(" and (" + by + ", g.group_id) < (" + q.Arg(at) + ", " + q.Arg(c.ID) + ")")
	}
	order := " order by " + by + " desc, g.group_id desc limit " + q.Arg(p.Size())
	q.Add(order + end + " where true")
	inTables(q, d, "t.table_name", store.Filter{Table: f.Table, Tables: f.Tables})
	return q.Add(order)
}

// hasState restricts to groups that have an error in a state.
func hasState(q *sqldb.Query, state recoup.State) {
	column := map[recoup.State]string{
		recoup.Active: "active", recoup.RetryPending: "retry_pending", recoup.Parked: "parked", recoup.Escalated: "escalated", recoup.Resolved: "resolved",
	}[state]
	switch {
	case state == "":
	case column == "":
		q.Add(" and false")
	case state == recoup.Resolved:
		q.Add(" and g.resolved > 0")
	default:
		q.Add(" and g.open > 0 and g." + column + " > 0")
	}
}

var groupHours = sqldb.Fields(func(h *store.GroupHour) []any { return []any{&h.ID, &h.Hour, &h.N} })

// ErrorGroupHours returns how many errors of some groups were reported in each hour from
// a time on, where there were any.
func (v Ops) ErrorGroupHours(ctx context.Context, ids []recoup.ID, from time.Time) ([]store.GroupHour, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read the trend of groups", `select group_id, hour, n from recoup.error_group_hour
		where group_id`+v.db.Dialect().AnyID("$1")+` and hour >= $2`, ids, store.Hour(from)), groupHours...)
}

// NoteErrorGroup changes the owner and the note of a group.
func (v Ops) NoteErrorGroup(ctx context.Context, id recoup.ID, owner, note string, by store.Act) (recoup.ErrorGroup, error) {
	return sqldb.Act(ctx, v.db, "note a group of errors", func(tx Tx) (recoup.ErrorGroup, error) {
		g, err := errorGroups.Lock(tx, id, id.String())
		if err != nil {
			return g, err
		}
		details := map[string]any{}
		if owner != "" {
			g.Owner, details["owner"] = owner, owner
		}
		if note != "" {
			g.Note, details["note"] = note, note
		}
		if err := errorGroups.Update(tx, g); err != nil {
			return g, err
		}
		return g, audits.Add(tx, by.On(store.ActErrorGroupNote, id.String(), details))
	})
}

// PurgeErrorGroups deletes at most limit groups that have no errors and were last seen
// before a time, and as many of their hours.
func (v Ops) PurgeErrorGroups(ctx context.Context, before time.Time, limit int) (int, error) {
	return sqldb.Act(ctx, v.db, "purge groups of errors", func(tx Tx) (int, error) {
		groups, err := tx.Change("delete from recoup.error_group where group_id"+tx.Dialect().AnyOf(`select group_id from recoup.error_group
			/*by error_group_purge_idx*/ where active = 0 and retry_pending = 0 and parked = 0 and escalated = 0 and resolved = 0 and last_seen_at < $1
			order by last_seen_at limit $2`), []any{before, limit})
		if err != nil {
			return 0, err
		}
		hours, err := tx.Change(`delete from recoup.error_group_hour where (group_id, hour) in (select group_id, hour from recoup.error_group_hour
			where hour < $1 order by hour limit $2)`, []any{before, limit})
		return max(groups, hours), err
	})
}
