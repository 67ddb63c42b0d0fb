package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/fault"
)

// watch notes a disk that is full and a lock that was not had in time, or for which the server had no room, from whatever statement met it, and ends a session
// that can only read: after a failover, the next one finds the new primary. A
// statement that succeeds costs nothing.
func (s *Store) watch(config *pgx.ConnConfig) {
	next := config.OnPgError
	config.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		switch err.Code {
		case diskFull, ioError:
			s.trouble.Note(failure("write", err))
		case lockNotAvailable, outOfMemory:
			s.lockTimeouts.Add(1)
		}
		return next(conn, err) && err.Code != readOnly
	}
}

// privileges are what a role may do, by what it may do it to.
type privileges struct {
	kinds   []string // relation, function or schema
	objects []uint32
	rights  []string
}

// privileges reads what this node's role may do in the schemas of Recoup.
// Partitions and what a policy names come and go, and are left out.
func (s *Store) privileges(ctx context.Context) (p privileges, err error) {
	err = s.pool.QueryRow(ctx, `
		with ours as (select oid from pg_namespace where nspname in ('recoup', 'cl')),
		may as (
		  select 'relation' as kind, c.oid, r as privilege from pg_class c
		    cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as r
		    where c.relnamespace in (select oid from ours) and c.relkind in ('r', 'p') and not c.relispartition
		      and has_table_privilege(c.oid, r)
		  union all
		  select 'function', oid, 'EXECUTE' from pg_proc
		    where pronamespace in (select oid from ours) and has_function_privilege(oid, 'EXECUTE')
		  union all
		  select 'schema', oid, 'USAGE' from ours where has_schema_privilege(oid, 'USAGE'))
		select coalesce(array_agg(kind), '{}'), coalesce(array_agg(oid), '{}'), coalesce(array_agg(privilege), '{}') from may`).
		Scan(&p.kinds, &p.objects, &p.rights)
	return p, failure("read the privileges of this node", err)
}

// selectLost finds a privilege that the role no longer has on something that still
// exists, and says whether the session can write at all.
const selectLost = `
	select current_setting('transaction_read_only') = 'on', coalesce((
	  select lower(privilege collate "C") || ' on ' || kind || ' ' || coalesce(
	      (select oid::regclass::text from pg_class c where c.oid = object and kind = 'relation'),
	      (select oid::regproc::text from pg_proc p where p.oid = object and kind = 'function'),
	      (select nspname::text from pg_namespace n where n.oid = object and kind = 'schema'))
	  from unnest($1::text[], $2::oid[], $3::text[]) as granted (kind, object, privilege)
	  where not case kind
	    when 'relation' then coalesce(has_table_privilege(object, privilege), true)
	    when 'function' then coalesce(has_function_privilege(object, privilege), true)
	    else coalesce(has_schema_privilege(object, privilege), true) end
	  limit 1), '')`

// Ping reports why the database cannot be used, if it cannot: it does not answer,
// is read-only, has taken a privilege from this node's role, or has no space left.
// After a write that failed for want of space it tries one.
func (s *Store) Ping(ctx context.Context) error {
	var standby bool
	var lost string
	err := s.pool.QueryRow(ctx, selectLost, s.granted.kinds, s.granted.objects, s.granted.rights).Scan(&standby, &lost)
	switch {
	case err != nil:
		return failure("ping", err)
	case standby:
		return failure("ping", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: readOnly, Message: "transactions are read-only"})
	case lost != "":
		return fault.Wrap(fmt.Errorf("the role of this node has lost: %s", lost), fault.CodeTemporaryUnavailable,
			"This node lacks a privilege in its database: 'recoup migrate up' grants what nodes need.").With("error_type", "insufficient_privilege")
	}
	return s.trouble.Retry(func() error { return s.tryWriting(ctx) })
}

// probeRows need some hundred kilobytes, so that the table has to grow for them.
const probeRows = 4000

// tryWriting makes a table grow, and takes back what it wrote there.
func (s *Store) tryWriting(ctx context.Context) error {
	probe, err := s.pool.Begin(ctx)
	if err != nil {
		return onAcquire(failure("try to write", err))
	}
	_, err = probe.Exec(ctx, "insert into recoup.event_drop (day, reason, n) select 'epoch', 'probe', i from generate_series(1, $1::int) as i", probeRows)
	return failure("try to write", errors.Join(err, probe.Rollback(context.WithoutCancel(ctx))))
}
