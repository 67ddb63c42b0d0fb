package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// readServerSettings reads the settings that matter, as sessions of nodes have them: what
// was set for the database or for their role goes before what the server has. The view
// pg_settings is not used, because every role can lock it.
func readServerSettings(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `
		with own as (select s.setrole, s.setdatabase, split_part(c, '=', 1) as name, substr(c, strpos(c, '=') + 1) as setting
		  from pg_db_role_setting s cross join unnest(s.setconfig) c
		  where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
		    and s.setrole in (0, coalesce(to_regrole('recoup_app')::oid, 0)))
		select g.name, coalesce(o.setting, g.reset_val, g.setting), concat_ws(' in ', case when o.setrole <> 0 then 'role recoup_app' end, case when o.setdatabase <> 0 then 'database ' || quote_ident(current_database()) end)
		from pg_show_all_settings() g left join lateral (select * from own where own.name = g.name order by setrole <> 0 desc, setdatabase <> 0 desc limit 1) o on true
		where g.name in ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'shared_buffers', 'max_connections', 'superuser_reserved_connections',
		  'track_counts', 'archive_mode', 'server_version_num', 'autovacuum_freeze_max_age', 'default_transaction_read_only', 'zero_damaged_pages')`)
	if err != nil {
		return err
	}
	f.Server.Settings, f.Server.Sources = map[string]string{}, map[string]string{}
	var name, value, source string
	_, err = pgx.ForEachRow(rows, []any{&name, &value, &source}, func() error {
		f.Server.Settings[name] = value
		if source != "" {
			f.Server.Sources[name] = source
		}
		return nil
	})
	return err
}

// readSessions reads how many sessions there are and may be.
func readSessions(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	err := q.QueryRow(ctx, `select count(*) filter (where backend_type = 'client backend'),
		current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - coalesce(current_setting('reserved_connections', true)::int, 0)
		from pg_stat_activity`).Scan(&f.Server.Sessions, &f.Server.Available)
	if err != nil {
		return err
	}
	rows, err := q.Query(ctx, `select 'database ' || quote_ident(datname), datconnlimit from pg_database where datname = current_database() and datconnlimit >= 0
		union all select 'role ' || quote_ident(rolname), rolconnlimit from pg_roles where rolname = 'recoup_app' and rolconnlimit >= 0`)
	if err != nil {
		return err
	}
	f.Server.Limits, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l store.ConnectionLimit, err error) {
		err = row.Scan(&l.Of, &l.Limit)
		return l, err
	})
	return err
}

// readTables reads how the tables of ours are vacuumed, and how old and large the
// database is.
func readTables(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	err := q.QueryRow(ctx, `select age(datfrozenxid)::bigint, pg_database_size(oid) from pg_database where datname = current_database()`).
		Scan(&f.Server.FrozenAge, &f.Server.Size)
	if err != nil {
		return err
	}
	rows, err := q.Query(ctx, `
		select format('%I.%I', s.schemaname, s.relname), s.n_live_tup, s.n_dead_tup, greatest(s.last_autovacuum, s.last_vacuum),
		  coalesce((select lower(o.option_value collate "C") in ('false', 'off', '0', 'no') from pg_options_to_table(c.reloptions) o where o.option_name = 'autovacuum_enabled'), false)
		from pg_stat_user_tables s join pg_class c on c.oid = s.relid where s.schemaname in ('recoup', 'cl') order by 1`)
	if err != nil {
		return err
	}
	f.Server.Tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t store.TableHealth, err error) {
		var vacuumed *time.Time
		err = row.Scan(&t.Name, &t.Live, &t.Dead, &vacuumed, &t.AutovacuumOff)
		t.Vacuumed = moment(vacuumed)
		return t, err
	})
	return err
}

// readHolders reads the oldest transactions. Those of other roles are shown to few.
func readHolders(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	return readHeld(ctx, q, f, `
		select 'transaction', format('pid %s of %s (%s)', pid, usename, coalesce(nullif(application_name, ''), 'no name')), xact_start, 0::bigint
		  from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'
		union all select 'prepared transaction', gid, prepared, 0 from pg_prepared_xacts where database = current_database() order by 3 limit 20`)
}

// readSlots reads the replication slots that nobody uses, and how much of the log they
// keep.
func readSlots(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	return readHeld(ctx, q, f, `
		select 'replication slot', slot_name::text, null::timestamptz,
		  case when pg_is_in_recovery() then 0 else coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint end
		  from pg_replication_slots where not active and (restart_lsn is not null or xmin is not null or catalog_xmin is not null) order by 2 limit 20`)
}

func readHeld(ctx context.Context, q querier, f *store.Facts, sql string) error {
	rows, err := q.Query(ctx, sql)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.Holder, err error) {
		var since *time.Time
		err = row.Scan(&h.Kind, &h.Name, &since, &h.Bytes)
		h.Since = moment(since)
		return h, err
	})
	f.Server.Holders = append(f.Server.Holders, list...)
	return err
}

// readArchiver reads whether the log is archived, as point-in-time recovery needs it.
func readArchiver(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	var archived, failed *time.Time
	err := q.QueryRow(ctx, `select current_setting('archive_mode') <> 'off', last_archived_time, last_failed_time from pg_stat_archiver`).
		Scan(&f.Server.Archiving, &archived, &failed)
	f.Server.ArchivedAt, f.Server.ArchiveFail = moment(archived), moment(failed)
	return err
}

// readUnsecured reads which tables lack row security while it is on.
func readUnsecured(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `select t.relation::text from recoup.row_security_tables() t join pg_class c on c.oid = t.relation
		where not c.relrowsecurity and exists (select from recoup.row_security_tables() o join pg_class s on s.oid = o.relation where s.relrowsecurity) order by 1`)
	if err != nil {
		return err
	}
	f.Server.Unsecured, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// readRoles reads which of our roles exist, and what they may do beyond their grants.
func readRoles(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `
		select w.name, r.oid is null, array_remove(array[case when r.rolsuper then 'superuser' end, case when r.rolbypassrls then 'bypassrls' end,
		  case when r.oid <> o.oid and not r.rolsuper and pg_has_role(r.oid, o.oid, 'usage') then 'member of ' || o.rolname || ', who owns the schema' end], null)
		from unnest('{recoup_app,recoup_writer,recoup_reader}'::text[]) as w (name) left join pg_roles r on r.rolname = w.name
		  cross join (select a.oid, a.rolname from pg_class c join pg_roles a on a.oid = c.relowner where c.oid = 'recoup.error'::regclass) o order by 1`)
	if err != nil {
		return err
	}
	f.Server.Roles, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.RoleFact, err error) {
		err = row.Scan(&r.Name, &r.Missing, &r.Powers)
		return r, err
	})
	if err != nil {
		return err
	}
	if err := scanSchemaOwner(q.QueryRow(ctx, selectSchemaOwner), &f.Server.Owner); err != nil {
		return err
	}
	rows, err = q.Query(ctx, selectRoleAdmins)
	if err != nil {
		return err
	}
	f.Server.RoleAdmins, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.RoleAdmin])
	return err
}

// selectRoleSettings lists settings of our roles that grants.sql does not make. What is missing is left
// out: a copy of a database has none, and nodes set theirs themselves.
const selectRoleSettings = `
	with wanted (role, name, setting) as (values ('recoup_app', 'search_path', 'recoup, cl, pg_temp'), ('recoup_writer', 'search_path', 'recoup, cl, public'),
	  ('recoup_reader', 'search_path', 'recoup, cl, public'), ('recoup_app', 'timezone', 'UTC'), ('recoup_writer', 'timezone', 'UTC'), ('recoup_reader', 'timezone', 'UTC'),
	  ('recoup_writer', 'idle_in_transaction_session_timeout', '30s')),
	present as (select r.rolname::text as role, s.setdatabase <> 0 as here, lower(split_part(c, '=', 1) collate "C") as name, substr(c, strpos(c, '=') + 1) as setting
	  from pg_db_role_setting s join pg_roles r on r.oid = s.setrole cross join unnest(s.setconfig) c
	  where r.rolname in ('recoup_app', 'recoup_writer', 'recoup_reader') and s.setdatabase in (0, (select oid from pg_database where datname = current_database())))
	select p.role, p.name, p.setting, 'alter role ' || p.role || case when p.here then format(' in database %I', current_database()) else '' end
	    || case when not p.here or w.name is null then format(' reset %I', p.name) when p.name = 'search_path' then ' set search_path = ' || w.setting
	      else format(' set %I = %L', p.name, w.setting) end
	  from present p left join wanted w on w.role = p.role and w.name = p.name where not p.here or w.setting is distinct from p.setting order by 1, 2, 4 limit 100`

// readRoleSettings reads settings of our roles that somebody else has made: a member of a role can
// become that role, and change its settings and its password.
func readRoleSettings(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, selectRoleSettings)
	if err != nil {
		return err
	}
	f.Server.RoleSettings, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.RoleSetting])
	return err
}

// readStaleReaders reads what was given to roles that do not exist any more, or whose name another role has now.
func readStaleReaders(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `select g.reader::text, g.kind, g.name, format('select recoup.forbid_read(%L, %L, %L)', g.reader, g.kind, g.name) from recoup.read_grant g
		where not exists (select from pg_roles r where r.oid = g.reader_id and r.rolname = g.reader) order by 1, 2, 3 limit 100`)
	if err != nil {
		return err
	}
	f.Server.StaleReaders, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.StaleReader])
	return err
}

// readForeign reads which objects in our schemas belong to others. Objects of an adoption belong to
// the owner of the adopted table.
func readForeign(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `
		with ours as (select oid, nspname, nspowner from pg_namespace where nspname in ('recoup', 'cl')),
		thing (class, id, name, owner) as (
		  select 'pg_namespace'::regclass, oid, '', nspowner from ours
		  union all select 'pg_class'::regclass, c.oid, c.relname, c.relowner from pg_class c join ours o on o.oid = c.relnamespace where c.relkind not in ('i', 'I', 't')
		  union all select 'pg_proc'::regclass, p.oid, p.proname, p.proowner from pg_proc p join ours o on o.oid = p.pronamespace
		  union all select 'pg_operator'::regclass, p.oid, p.oprname, p.oprowner from pg_operator p join ours o on o.oid = p.oprnamespace
		  union all select 'pg_type'::regclass, t.oid, t.typname, t.typowner from pg_type t join ours o on o.oid = t.typnamespace
		    where t.typrelid = 0 and not exists (select from pg_type e where e.typarray = t.oid))
		select pg_describe_object(t.class::oid, t.id, 0), pg_get_userbyid(t.owner)::text, quote_ident(pg_get_userbyid(e.relowner))
		  from thing t join pg_class e on e.oid = 'recoup.error'::regclass::oid
		 where t.owner <> e.relowner and not exists (select from recoup.adoption a where starts_with(t.name, format('adopted_%s_', a.adoption_id)))
		 order by 1 limit 100`)
	if err != nil {
		return err
	}
	f.Server.Foreign, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.ForeignObject])
	return err
}

// readPublicSchema reads whether every role may create objects in the schema public, as
// PostgreSQL 13 and 14 allow by default. A database without that schema allows it to none.
func readPublicSchema(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	return q.QueryRow(ctx, `select exists (select from pg_namespace n cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
		where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE')`).Scan(&f.Server.PublicCreate)
}
