package postgres

import (
	"context"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// versionTables are read before anything is known of a schema. Reading them must
// run no code of their owner, who is not known yet.
var versionTables = []string{versionTable, "recoup.schema_checksum", "recoup.schema_needs"}

// writtenTables are those that migrations write before the schema is theirs.
var writtenTables = []string{versionTable, "recoup.schema_lock"}

// checkRole refuses a session that acts as another role than its user: what a migration creates
// would belong to that role.
func checkRole(ctx context.Context, db reader) error {
	owner, err := pgsession.ScanOwner(db.QueryRowContext(ctx, pgsession.OwnerQuery))
	if err != nil {
		return err
	}
	return owner.CheckRole()
}

// checkOwner refuses a user with rights that code of the schema's owner would gain. Only the
// catalog is read.
func (s *Store) checkOwner(ctx context.Context, stated string) (pgsession.Owner, error) {
	owner, err := pgsession.ReadOwner(ctx, s.pool)
	if err != nil {
		return owner, failure("open", err)
	}
	if err := owner.Check(stated); err != nil {
		return owner, err
	}
	return owner, failure("open", pgsession.CheckObjects(ctx, s.pool, owner, namesInCL()))
}

// namesInCL returns the names of Recoup's tables, views and functions in the schema cl, which
// may have others in it.
func namesInCL() (names []string) {
	for _, o := range expectedSchema() {
		name, ours := strings.CutPrefix(o.Name, "cl.")
		if ours && (o.Kind == store.ObjectTable || o.Kind == store.ObjectFunction || o.Kind == store.ObjectView) {
			name, _, _ = strings.Cut(name, "(")
			names = append(names, name)
		}
	}
	return names
}

// checkOwners lists schemas and tables that belong to another role than the one that migrates. The
// owner of a schema can drop and replace what others create in it. Membership in the owner's role and
// the rights of a superuser do not count. If the schema recoup itself belongs to another role, it is
// the only obstacle listed: the user is probably wrong, and advice on the tables would do harm.
func checkOwners(ctx context.Context, db reader, tables []string) ([]Obstacle, error) {
	list, err := readList(ctx, db, selectOwners, obstacle, tables)
	for _, o := range list {
		if o.Kind == "schema" && o.Name == "recoup" {
			return []Obstacle{o}, err
		}
	}
	return list, err
}

const selectOwners = `
	with self as (select r.oid, quote_ident(r.rolname) as name from pg_roles r where r.rolname = session_user)
	select n.nspname::text, 'schema', pg_get_userbyid(n.nspowner)::text, case when n.nspname = 'recoup' and not exists (select from pg_depend d where d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid)
	    then format('it must belong to %1$s, the role that migrates. It is empty: an administrator runs alter schema recoup owner to %1$s', s.name)
	  when n.nspname = 'recoup'
	    then format('it must belong to %1$s, the role that migrates. Run recoup migrate up as %2$s if Recoup was installed by that role; if not, drop or rename the schema. '
	      || 'Do not only change its owner: %2$s may own tables and functions in it', s.name, quote_ident(pg_get_userbyid(n.nspowner)))
	    else format('it must belong to %1$s, the role that migrates. An administrator reviews what is in it and runs alter schema cl owner to %1$s; or rename it', s.name) end
	  from pg_namespace n cross join self s where n.nspname in ('recoup', 'cl') and n.nspowner <> s.oid
	union all
	select format('%I.%I', n.nspname, c.relname), case c.relkind when 'r' then 'table' when 'v' then 'view' else 'relation' end, pg_get_userbyid(c.relowner)::text, case n.nspname when 'recoup'
	    then format('it must belong to %s, the role that migrates: drop it', s.name)
	    else format('to be taken over, it must belong to %1$s, the role that migrates. An administrator reviews it and runs alter table %2$I.%3$I owner to %1$s; or rename it', s.name, n.nspname, c.relname) end
	  from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join self s
	 where n.nspname || '.' || c.relname = any ($1) and c.relowner <> s.oid
	 order by 1, 2`

// checkPlain lists what tables have that can run code of others when they are read or written:
// triggers, rules, row security, types, and expressions with functions that are not built in.
// PostgreSQL evaluates parts of such expressions already when it plans a query.
func checkPlain(ctx context.Context, db reader, tables []string) ([]Obstacle, error) {
	return readList(ctx, db, selectUnplain, obstacle, tables)
}

// 16384 is the first oid of objects that are not built in. Until PostgreSQL 14, the functions of a
// generated column are dependencies of the table, from 15 on those of the expression. Each part
// begins with the tables: a catalog can have a million entries.
const selectUnplain = `
	with kept as (select c.oid, c.relkind, c.relowner, c.relrowsecurity, format('%I.%I', n.nspname, c.relname) as name
	    from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname || '.' || c.relname = any ($1)),
	part (rel, class, id, what) as materialized (
	  select a.attrelid, d.classid, d.objid, format(case a.attgenerated when '' then 'the default of its column %I' else 'its generated column %I' end, a.attname)
	    from kept k cross join lateral (select d.* from pg_depend d where d.refclassid = 'pg_class'::regclass::oid and d.refobjid = k.oid offset 0) d
	    join pg_attribute a on a.attrelid = k.oid and a.attnum = d.refobjsubid
	   where d.classid = 'pg_attrdef'::regclass::oid and d.deptype in ('a', 'i')
	  union all select oid, 'pg_class'::regclass::oid, oid, 'a generated column' from kept where relkind = 'r'
	  union all select t.oid, 'pg_constraint'::regclass::oid, c.oid, format('its constraint %I', c.conname) from kept t join pg_constraint c on c.conrelid = t.oid
	  union all select k.oid, 'pg_class'::regclass::oid, i.indexrelid, format('its index %I', c.relname) from kept k join pg_index i on i.indrelid = k.oid join pg_class c on c.oid = i.indexrelid
	  union all select k.oid, 'pg_statistic_ext'::regclass::oid, x.oid, format('its statistics object %I', x.stxname) from kept k join pg_statistic_ext x on x.stxrelid = k.oid),
	odd (rel, how) as (
	  select oid, 'only a plain table is accepted: drop or rename it' from kept where relkind <> 'r'
	  union all select t.tgrelid, format('it has the trigger %I: drop the trigger', t.tgname) from kept k join pg_trigger t on t.tgrelid = k.oid and not t.tgisinternal
	  union all select r.ev_class, format('it has the rule %I: drop the rule', r.rulename) from pg_rewrite r join kept k on k.oid = r.ev_class and k.relkind = 'r'
	  union all select oid, format('it has row security: alter table %s disable row level security', name) from kept where relrowsecurity
	  union all select distinct k.oid, 'it inherits, or is inherited from: alter table … no inherit' from kept k join pg_inherits i on k.oid in (i.inhrelid, i.inhparent)
	  union all
	  select k.oid, format('its column %1$I has the type %2$s, which is not built in: alter table %3$s alter column %1$I type text', a.attname, format_type(a.atttypid, a.atttypmod), k.name)
	    from kept k join pg_attribute a on a.attrelid = k.oid and a.attnum > 0 and not a.attisdropped join pg_type t on t.oid = a.atttypid
	   where k.relkind = 'r' and (t.oid >= 16384 or t.typnamespace <> 'pg_catalog'::regnamespace::oid or t.typtype not in ('b', 'r', 'm'))
	  union all
	  select distinct p.rel, format('%s uses the %s, which is not built in: drop it', p.what, pg_describe_object(d.refclassid, d.refobjid, 0))
	    from part p cross join lateral (select d.* from pg_depend d where d.classid = p.class and d.objid = p.id offset 0) d
	   where d.refobjid >= 16384
	     and d.refclassid in ('pg_proc'::regclass::oid, 'pg_operator'::regclass::oid, 'pg_type'::regclass::oid, 'pg_opclass'::regclass::oid))
	select k.name, case k.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view' when 'm' then 'materialized view' else 'relation' end,
	    pg_get_userbyid(k.relowner)::text, o.how
	  from odd o join kept k on k.oid = o.rel order by 1, 4`
