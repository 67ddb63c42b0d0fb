package sqlops

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// leaseOf joins d, the lease that somebody may have on an error e. In SQLite's files it
// is a part of the error's own row.
func leaseOf(d sqldb.Dialect) string {
	return d.Either(` left join lateral (select lease_token, lease_worker, leased_at, lease_ends_at
	from recoup.due where due.error_id = e.error_id) d on true`, "")
}

// Current describes errors as they are at the moment, e put together with d: while a
// lease is held, it says when the last retry was and when the next may be. What is
// resolved keeps its key and the time of a reminder until it is archived, so that
// resolving it touches no index.
func Current(d sqldb.Dialect) sqldb.Table[recoup.Error] {
	return sqldb.Table[recoup.Error]{Name: "recoup.error e" + leaseOf(d), Columns: currentColumns(d)}
}

func currentColumns(d sqldb.Dialect) []sqldb.Column[recoup.Error] {
	list := append(sqldb.Prefixed("e.", store.OpenErrors.Columns), sqldb.Prefixed(d.Either("d.", "e."), store.Leases)...)
	for i := range list {
		switch c := &list[i]; c.Name {
		case "e.next_retry_at":
			c.Name = d.Either("coalesce(d.lease_ends_at, e.next_retry_at)", c.Name)
		case "e.last_retry_at":
			c.Name = d.Either("coalesce(d.leased_at, e.last_retry_at)", c.Name)
		case "e.updated_at":
			c.Name = d.Either("greatest(e.updated_at, d.leased_at)", c.Name)
		case "e.replaceable":
			c.Name = "e.replaceable and e.state <> 'RESOLVED'"
		case "e.next_reminder_at":
			c.Name = "case when e.state <> 'RESOLVED' then e.next_reminder_at end"
		}
	}
	return list
}

var (
	current = sqldb.PerDialect(func(d sqldb.Dialect) sqldb.Repository[recoup.Error] { return sqldb.NewRepository(Current(d), "error") })

	archived = sqldb.NewRepository(sqldb.Table[recoup.Error]{Name: "recoup.error_archive", Columns: slices.Concat(store.Errors.Columns, store.Archiving)}, "error")
	history  = sqldb.NewRepository(sqldb.Table[recoup.Transition]{Name: store.History.Name, Columns: append(slices.Clip(store.History.Columns),
		sqldb.Big("seq", func(*recoup.Transition) *int64 { return new(int64) }))}, "transition") // in whose order they are read
)

// Error returns an error from its table or from the archive.
func (v Ops) Error(ctx context.Context, id recoup.ID) (recoup.Error, error) {
	const doing = "read an error"
	view := current(v.db.Dialect())
	if found, err := view.List(ctx, v.db, view.Select(doing, "where e.error_id = $1", id)); err != nil || len(found) > 0 {
		return sqldb.One(found, err, "")
	}
	return archived.Get(ctx, v.db, archived.Select(doing, "where error_id = $1", id), id.String())
}

// History returns the history of an error, oldest first.
func (v Ops) History(ctx context.Context, id recoup.ID, limit int) ([]recoup.Transition, error) {
	return history.List(ctx, v.db, history.Select("read the history", "where error_id = $1 order by at, seq limit $2", id, sqldb.Clamp(limit)))
}

// Unadmitted returns rows written by plain SQL that no engine has seen yet,
// oldest first.
func (v Ops) Unadmitted(ctx context.Context, limit int) ([]recoup.Error, error) {
	view := current(v.db.Dialect())
	return view.List(ctx, v.db, view.Select("read what is not admitted",
		"where e.policy_version is null order by e.created_at, e.error_id limit $1", sqldb.Clamp(limit)))
}

// Archived lists the archive of a table, last archived first.
func (v Ops) Archived(ctx context.Context, table string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	q := archived.Select("list the archive", "/*by error_archive_table_idx*/ where table_name = $1", table)
	return archived.Page(ctx, v.db, q.Newest("archived_at", "error_id", p), p, func(e *recoup.Error) sqldb.Cursor {
		return sqldb.Cursor{At: e.ArchivedAt, ID: e.ID}
	})
}
