package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var errorGroups = table(store.ErrorGroups, "group of errors")

// ErrorGroup returns a group of errors.
func (v Ops) ErrorGroup(ctx context.Context, id recoup.ID) (recoup.ErrorGroup, error) {
	return errorGroups.get(ctx, v, errorGroups.ask("read a group of errors", "where group_id = $1", id), id.String())
}

// ErrorGroups lists groups of errors in an order. As with errors a page of each table is
// read from an index, and the first of them are taken.
func (v Ops) ErrorGroups(ctx context.Context, f store.ErrorGroupFilter, p store.Page) ([]recoup.ErrorGroup, store.Cursor, error) {
	return errorGroups.page(ctx, v, errorGroupsQuery(f, p), p, func(g *recoup.ErrorGroup) store.Cursor {
		if f.Order == recoup.GroupsBySeen {
			return store.Cursor{At: g.LastSeenAt, ID: g.ID}
		}
		return store.OpenCursor(g)
	})
}

func errorGroupsQuery(f store.ErrorGroupFilter, p store.Page) *Query {
	by, index := "g.open", "open_idx"
	if f.Order == recoup.GroupsBySeen {
		by, index = "g.last_seen_at", "seen_idx"
	}
	if f.Code != "" {
		index = "code_" + index
	}
	q := ask("list groups of errors", "select "+errorGroups.Names("g.")+" from "+eachTable+
		"(select * from recoup.error_group g /*by error_group_"+index+"*/ where g.table_name = t.table_name")
	q.equal("g.code", string(f.Code))
	q.hasState(f.State)
	if c := p.Cursor; !c.IsZero() {
		at := any(c.At)
		if f.Order != recoup.GroupsBySeen {
			at = c.At.UnixMicro()
		}
		q.add(" and (" + by + ", g.group_id) < (" + q.arg(at) + ", " + q.arg(c.ID) + ")")
	}
	order := " order by " + by + " desc, g.group_id desc limit " + q.arg(p.Size())
	q.add(order + ") g where true")
	q.tables("t.table_name", store.Filter{Table: f.Table, Tables: f.Tables})
	return q.add(order)
}

// hasState restricts to groups that have an error in a state.
func (q *Query) hasState(state recoup.State) {
	column := map[recoup.State]string{
		recoup.Active: "active", recoup.RetryPending: "retry_pending", recoup.Parked: "parked", recoup.Escalated: "escalated", recoup.Resolved: "resolved",
	}[state]
	switch {
	case state == "":
	case column == "":
		q.add(" and false")
	case state == recoup.Resolved:
		q.add(" and g.resolved > 0")
	default:
		q.add(" and g.open > 0 and g." + column + " > 0")
	}
}

var groupHours = sqldb.Fields(func(h *store.GroupHour) []any { return []any{&h.ID, &h.Hour, &h.N} })

// ErrorGroupHours returns how many errors of some groups were reported in each hour from
// a time on, where there were any.
func (v Ops) ErrorGroupHours(ctx context.Context, ids []recoup.ID, from time.Time) ([]store.GroupHour, error) {
	return rows(ctx, v, ask("read the trend of groups", `select group_id, hour, n from recoup.error_group_hour
		where group_id = any ($1::uuid[]) and hour >= $2`, ids, store.Hour(from)), groupHours...)
}

// NoteErrorGroup changes the owner and the note of a group.
func (v Ops) NoteErrorGroup(ctx context.Context, id recoup.ID, owner, note string, by store.Act) (recoup.ErrorGroup, error) {
	return act(ctx, v, "note a group of errors", func(tx Tx) (recoup.ErrorGroup, error) {
		g, err := errorGroups.lock(tx, id, id.String())
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
		if err := errorGroups.set(tx, g); err != nil {
			return g, err
		}
		return g, audits.add(tx, by.On(store.ActErrorGroupNote, id.String(), details))
	})
}

// PurgeErrorGroups deletes at most limit groups that have no errors and were last seen
// before a time, and as many of their hours.
func (v Ops) PurgeErrorGroups(ctx context.Context, before time.Time, limit int) (int, error) {
	return act(ctx, v, "purge groups of errors", func(tx Tx) (int, error) {
		groups, err := tx.Change(`delete from recoup.error_group where group_id = any (array(select group_id from recoup.error_group
			/*by error_group_purge_idx*/ where active = 0 and retry_pending = 0 and parked = 0 and escalated = 0 and resolved = 0 and last_seen_at < $1
			order by last_seen_at limit $2))`, []any{before, limit})
		if err != nil {
			return 0, err
		}
		hours, err := tx.Change(`delete from recoup.error_group_hour where (group_id, hour) in (select group_id, hour from recoup.error_group_hour
			where hour < $1 order by hour limit $2)`, []any{before, limit})
		return max(groups, hours), err
	})
}
