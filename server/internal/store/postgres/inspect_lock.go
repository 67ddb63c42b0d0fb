package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectLockHolders lists the sessions and prepared transactions, other than those of nodes, that hold
// or wait for a lock on a table of ours which conflicts with writing it, or hold gates, which are one
// row for each, or hold a quarter of the locks that the server has room for, in any database. Other tables that serve as locks are left out. When a transaction of another role began
// is shown to few. If $2 is true, those are listed too that only hold an ACCESS SHARE lock on a table
// with partitions, or on one of these, for minutes, or may not read it: no month of it can be dropped
// meanwhile. One such lock of each is enough.
const selectLockHolders = `
	with held as (
	  select l.pid, l.virtualtransaction, l.mode, l.granted, c.relname ~ '^gate_stripe_[0-9]+$' as gate, c.relkind = 'p' or c.relispartition as monthly, c.oid, format('%I.%I', n.nspname, c.relname) as name
	    from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
	   where l.locktype = 'relation' and l.database = (select oid from pg_database where datname = current_database())
	     and n.nspname in ('recoup', 'cl') and c.relkind in ('r', 'p') and c.relname !~ '^(turn_lock|lock_secret|schema_lock)$'
	     and l.pid is distinct from pg_backend_pid()),
	each as (
	  select pid, virtualtransaction, mode, name as on_what, not granted as waits from held
	   where not gate and mode in ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')
	  union all
	  select pid, virtualtransaction, min(mode), $1, false from held where gate and granted group by pid, virtualtransaction
	  union all
	  select pid, min(virtualtransaction), count(*) || ' locks', $3, false from pg_locks where granted and pid is distinct from pg_backend_pid() group by pid
	  having count(*) > current_setting('max_locks_per_transaction')::int * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) / 4
	  union all
	  select h.pid, h.virtualtransaction, h.mode, min(h.name), false from held h join pg_stat_activity a on a.pid = h.pid and a.usesysid is not null
	   where $2 and h.mode = 'AccessShareLock' and h.monthly and h.granted
	     and case when a.xact_start is null then not has_table_privilege(a.usesysid, h.oid, 'select') else a.xact_start < clock_timestamp() - interval '5 min' end
	   group by 1, 2, 3)
	select coalesce(e.pid, 0), coalesce(p.gid, ''), coalesce(a.usename::text, p.owner::text, 'unknown'), e.mode, e.on_what, e.waits, coalesce(a.xact_start, p.prepared),
	    (select count(distinct w.pid) from pg_locks w where not w.granted and coalesce(e.pid, 0) = any (pg_blocking_pids(w.pid))), e.virtualtransaction
	  from each e left join pg_stat_activity a on a.pid = e.pid
	  left join pg_locks x on e.pid is null and x.pid is null and x.virtualtransaction = e.virtualtransaction and x.locktype = 'transactionid'
	  left join pg_prepared_xacts p on p.transaction = x.transactionid
	 where coalesce(a.usename, p.owner) is distinct from 'recoup_app'
	 order by e.mode = 'AccessShareLock', 1, 2, 5 limit 20`

func lockHolders(ctx context.Context, q querier, months bool) ([]store.LockHolder, error) {
	rows, err := q.Query(ctx, selectLockHolders, store.GateLocks, months, store.ManyObjects)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.LockHolder, err error) {
		var since *time.Time
		err = row.Scan(&h.PID, &h.Prepared, &h.Role, &h.Mode, &h.On, &h.Waits, &since, &h.Blocked, &h.Transaction)
		h.Since = moment(since)
		return h, err
	})
}

// readLocks reads which transactions keep others from writing our tables, or hold gates, for more than a
// second, or keep months from being dropped.
func readLocks(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	first, err := lockHolders(ctx, q, true)
	if err != nil || len(first) == 0 {
		return err
	}
	var slept string
	if err := q.QueryRow(ctx, "select pg_sleep(1)::text").Scan(&slept); err != nil {
		return err
	}
	again, err := lockHolders(ctx, q, true)
	for _, h := range again {
		if slices.ContainsFunc(first, h.Same) {
			f.Server.Locks = append(f.Server.Locks, h)
		}
	}
	return err
}

// LockHolders lists the sessions that keep nodes from writing tables, if a statement of this node
// has waited for a lock in vain, or the server had no room for it, since it was last called. Otherwise it asks nothing, and ok is false.
func (s *Store) LockHolders(ctx context.Context) (list []store.LockHolder, ok bool, err error) {
	if s.lockTimeouts.Swap(0) == 0 {
		return nil, false, nil
	}
	list, err = lockHolders(ctx, s.pool, false)
	var full *pgconn.PgError
	if errors.As(err, &full) && full.Code == outOfMemory {
		list, err = lockTableHolder(ctx, s.pool)
	}
	list = slices.DeleteFunc(list, func(h store.LockHolder) bool { return h.On == store.GateLocks && h.Blocked == 0 }) // pipelines hold gates for a moment
	return list, err == nil, failure("list locks", err)
}

// lockTableHolder is the session with the most locks, read while the lock table is full: from functions of the server, because
// a catalog that all databases share cannot be locked then. So a role is known by its number only.
func lockTableHolder(ctx context.Context, q querier) ([]store.LockHolder, error) {
	rows, err := q.Query(ctx, `select l.pid, 'oid ' || a.usesysid, count(*) || ' locks', $1::text from pg_lock_status() l join pg_stat_get_activity(null) a on a.pid = l.pid
		where l.granted and l.pid <> pg_backend_pid() group by 1, 2 order by count(*) desc limit 1`, store.ManyObjects)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.LockHolder, err error) {
		err = row.Scan(&h.PID, &h.Role, &h.Mode, &h.On)
		return h, err
	})
}

// busyService notes that what the service keeps could not be read because of a lock.
func busyService(err error, f *store.Facts) error {
	if !errors.Is(err, store.ErrBusy) {
		return err
	}
	f.Unseen = append(f.Unseen, store.Unseen{What: "notifications and keys", Why: lockedWhy})
	return nil
}

// lockedWhy is why something that is locked could not be looked at.
const lockedWhy = "another session holds a lock on it"
