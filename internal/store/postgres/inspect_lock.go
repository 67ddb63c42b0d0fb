package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// selectLockHolders lists the sessions, other than those of nodes, that hold or wait for a lock on
// a table of ours which conflicts with writing it. Tables that serve as locks are left out. When a
// transaction of another role began is shown to few. If $1 is true, those are listed too that only
// hold an ACCESS SHARE lock on a table with partitions, or on one of these, for minutes, or may not
// read it: no month of it can be dropped meanwhile. One such lock of each is enough.
const selectLockHolders = `
	select distinct on (l.mode = 'AccessShareLock', l.pid, case l.mode when 'AccessShareLock' then 0 else c.oid end) l.pid, coalesce(a.usename::text, 'unknown'), l.mode, format('%I.%I', n.nspname, c.relname), not l.granted, a.xact_start,
	    (select count(distinct w.pid) from pg_locks w where not w.granted and l.pid = any (pg_blocking_pids(w.pid)))
	  from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace left join pg_stat_activity a on a.pid = l.pid
	 where l.locktype = 'relation' and l.database = (select oid from pg_database where datname = current_database())
	   and n.nspname in ('recoup', 'cl') and c.relkind in ('r', 'p') and c.relname !~ '^(gate_stripe_[0-9]+|turn_lock|lock_secret|schema_lock)$'
	   and (l.mode in ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')
	     or $1 and l.mode = 'AccessShareLock' and (c.relkind = 'p' or c.relispartition) and a.usesysid is not null
	       and case when a.xact_start is null then not has_table_privilege(a.usesysid, c.oid, 'select') else a.xact_start < clock_timestamp() - interval '5 min' end)
	   and l.pid <> pg_backend_pid() and a.usename is distinct from 'recoup_app'
	 order by l.mode = 'AccessShareLock', l.pid, case l.mode when 'AccessShareLock' then 0 else c.oid end, 4 limit 20`

func lockHolders(ctx context.Context, q querier, months bool) ([]store.LockHolder, error) {
	rows, err := q.Query(ctx, selectLockHolders, months)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.LockHolder, err error) {
		var since *time.Time
		err = row.Scan(&h.PID, &h.Role, &h.Mode, &h.On, &h.Waits, &since, &h.Blocked)
		h.Since = moment(since)
		return h, err
	})
}

// readLocks reads which sessions keep others from writing our tables for more than a second, or
// months from being dropped.
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
		if slices.ContainsFunc(first, func(b store.LockHolder) bool { return b.PID == h.PID && b.On == h.On }) {
			f.Server.Locks = append(f.Server.Locks, h)
		}
	}
	return err
}

// LockHolders lists the sessions that keep nodes from writing tables, if a statement of this node
// has waited for a lock in vain since it was last called. Otherwise it asks nothing, and ok is false.
func (s *Store) LockHolders(ctx context.Context) (list []store.LockHolder, ok bool, err error) {
	if s.lockTimeouts.Swap(0) == 0 {
		return nil, false, nil
	}
	list, err = lockHolders(ctx, s.pool, false)
	return list, err == nil, failure("list locks", err)
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
