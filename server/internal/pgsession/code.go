package pgsession

import "strings"

// Membership is an expression for the kind of membership, as pg_has_role reads it, whose members have the rights
// of a role or can take them. From PostgreSQL 16 on a role can be a member without either.
const Membership = "case when pg_catalog.current_setting('server_version_num')::int >= 160000 then 'USAGE, SET, MEMBER WITH ADMIN OPTION' else 'MEMBER' end"

// ForeignCode returns a query that selects the code of other roles that would run with the rights of
// a role when rows of a table or of its partitions are read or written: why, and what to do about it.
// Source and runsAs are expressions for the oids of the table and the role. It returns nothing if the
// role is not powerful: what such a role can do, its table's privileges decide. A powerful role is a superuser, has the rights of
// nodes or of the owner of the schema recoup, or can take them: by files, by programs, by what logical decoding shows, or, before
// PostgreSQL 16, by CREATEROLE.
//
// That code is triggers that others may create, and functions and types that the table's columns,
// constraints, indexes, policies and triggers use. The owner of a function can replace it. The owner
// of a type can have a cast to text or to JSON run a function, and a check run one. The owner of a schema
// can exchange the tables in it.
//
// Deletes is an expression that is true if rows are deleted too. Before PostgreSQL 18 the triggers of tables whose
// rows a foreign key then deletes or changes run with the rights of whoever deletes.
func ForeignCode(source, runsAs, deletes string) string {
	return strings.NewReplacer("$SOURCE", source, "$RUNS_AS", runsAs, "$DELETES", deletes, "$MEMBERSHIP", Membership).Replace(foreignCode)
}

// foreignCode follows the dependencies of a table: to its parts (a, i), from these to what they use, and
// from types to their casts from and to built-in types. No role but the owner of a table, or of a type,
// can add a part or such a cast to it. Defaults, and triggers that neither updates nor deletes fire, run with
// the rights of writers. Oids below 16384 are those of built-in objects.
const foreignCode = `
	with recursive powerful (id) as (
	  select $RUNS_AS where exists (select from pg_catalog.pg_roles r
	     where (r.rolsuper or r.rolreplication or r.rolcreaterole and pg_catalog.current_setting('server_version_num')::int < 160000
	         or r.rolname = any (array['recoup_app', 'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_read_all_data', 'pg_write_all_data']) or r.oid = (select n.nspowner from pg_catalog.pg_namespace n where n.nspname = 'recoup'))
	       and pg_catalog.pg_has_role($RUNS_AS, r.oid, 'member'))),
	cascades as (select from powerful where pg_catalog.current_setting('server_version_num')::int < 180000 and ($DELETES)),
	tables (id, child) as (
	  select $SOURCE, false from powerful
	  union
	  select n.id, t.child or n.child from tables t cross join lateral (
	    select i.inhrelid, false from pg_catalog.pg_inherits i where i.inhparent = t.id
	    union all
	    select f.conrelid, true from cascades, pg_catalog.pg_constraint f
	     where f.confrelid = t.id and f.contype = 'f' and (f.confdeltype not in ('a', 'r') or f.confupdtype not in ('a', 'r'))) n (id, child)),
	used (class, id) as (
	  select 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, t.id from tables t
	  union
	  select d.class, d.id from used u cross join lateral (
	    select p.classid, p.objid from pg_catalog.pg_depend p
	     where p.refclassid = u.class and p.refobjid = u.id and p.deptype in ('a', 'i')
	       and u.class = any (array['pg_catalog.pg_class', 'pg_catalog.pg_type', 'pg_catalog.pg_constraint']::pg_catalog.regclass[])
	       and not exists (select from pg_catalog.pg_attrdef f join pg_catalog.pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
	         where p.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and f.oid = p.objid and a.attgenerated = '')
	       and not exists (select from pg_catalog.pg_trigger t
	         where p.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass and t.oid = p.objid and (t.tgenabled = 'D' or t.tgtype & 24 = 0))
	    union all
	    select 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, c.castfunc from pg_catalog.pg_cast c
	     where u.class = 'pg_catalog.pg_type'::pg_catalog.regclass and c.castfunc >= 16384
	       and (c.castsource = u.id and c.casttarget < 16384 or c.casttarget = u.id and c.castsource < 16384)
	    union all
	    select n.refclassid, n.refobjid from pg_catalog.pg_depend n
	     where n.classid = u.class and n.objid = u.id and n.deptype in ('n', 'i') and n.refobjid >= 16384
	       and (n.refclassid = any (array['pg_catalog.pg_proc', 'pg_catalog.pg_type', 'pg_catalog.pg_operator']::pg_catalog.regclass[]))
	    union all
	    select 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid, a.atttypid from pg_catalog.pg_type y join pg_catalog.pg_attribute a on a.attrelid = y.typrelid
	     where u.class = 'pg_catalog.pg_type'::pg_catalog.regclass and y.oid = u.id and a.attnum > 0 and not a.attisdropped and a.atttypid >= 16384) d (class, id)),
	code (thing, owner, change) as (
	  select pg_catalog.format('the function %s', p.oid::pg_catalog.regprocedure), p.proowner, pg_catalog.format('ALTER FUNCTION %s', p.oid::pg_catalog.regprocedure)
	    from used u join pg_catalog.pg_proc p on u.class = 'pg_catalog.pg_proc'::pg_catalog.regclass and p.oid = u.id
	  union all
	  select pg_catalog.format('the type %s', pg_catalog.format_type(t.oid, null)), t.typowner, pg_catalog.format('ALTER TYPE %s', pg_catalog.format_type(t.oid, null))
	    from used u join pg_catalog.pg_type t on u.class = 'pg_catalog.pg_type'::pg_catalog.regclass and t.oid = u.id
	   where not exists (select from pg_catalog.pg_type e where e.typarray = t.oid))
	select pg_catalog.format('%s belongs to %s, whose code would run with the rights of %s when rows are read or written', c.thing, r.rolname, pg_catalog.pg_get_userbyid(w.id)) as why,
	    pg_catalog.format('review it, then run %s OWNER TO %I', c.change, pg_catalog.pg_get_userbyid(w.id)) as way
	  from code c join pg_catalog.pg_roles r on r.oid = c.owner cross join powerful w
	 where not r.rolsuper and not pg_catalog.pg_has_role(r.oid, w.id, $MEMBERSHIP)
	union
	select pg_catalog.format('the schema %I belongs to %s, who can drop tables of %s in it and create others under their names', n.nspname, r.rolname, pg_catalog.pg_get_userbyid(w.id)),
	    pg_catalog.format('run ALTER SCHEMA %I OWNER TO %I, or give the table to %s', n.nspname, pg_catalog.pg_get_userbyid(w.id), r.rolname)
	  from tables t join pg_catalog.pg_class c on c.oid = t.id join pg_catalog.pg_namespace n on n.oid = c.relnamespace cross join powerful w
	  join pg_catalog.pg_database d on d.datname = pg_catalog.current_database()
	  join pg_catalog.pg_roles o on o.oid = n.nspowner join pg_catalog.pg_roles r on r.oid = case o.rolname when 'pg_database_owner' then d.datdba else o.oid end
	 where not t.child and not r.rolsuper and not pg_catalog.pg_has_role(r.oid, w.id, $MEMBERSHIP)
	union
	select pg_catalog.format('%s belongs to %s, whose triggers would run with the rights of %s when a foreign key changes its rows', c.oid::pg_catalog.regclass, r.rolname, pg_catalog.pg_get_userbyid(w.id)),
	    pg_catalog.format('run ALTER TABLE %s OWNER TO %I, or drop its foreign key', c.oid::pg_catalog.regclass, pg_catalog.pg_get_userbyid(w.id))
	  from tables t join pg_catalog.pg_class c on c.oid = t.id join pg_catalog.pg_roles r on r.oid = c.relowner cross join powerful w
	 where t.child and not r.rolsuper and not pg_catalog.pg_has_role(r.oid, w.id, $MEMBERSHIP)
	union
	select pg_catalog.format('%s may create foreign keys to %s, and triggers behind them, which would run with the rights of %s when nodes delete its rows', g.name, c.oid::pg_catalog.regclass, pg_catalog.pg_get_userbyid(w.id)),
	    pg_catalog.format('run REVOKE REFERENCES%s ON %s FROM %s', a.col, c.oid::pg_catalog.regclass, g.name)
	  from cascades, tables t join pg_catalog.pg_class c on c.oid = t.id cross join powerful w
	    cross join lateral (select c.relacl, '' union all select n.attacl, pg_catalog.format(' (%I)', n.attname) from pg_catalog.pg_attribute n where n.attrelid = c.oid and n.attacl is not null and not n.attisdropped) a (acl, col)
	    cross join lateral pg_catalog.aclexplode(a.acl) x
	    cross join lateral (select case x.grantee when 0 then 'PUBLIC' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) end) g (name)
	 where x.privilege_type = 'REFERENCES' and not pg_catalog.pg_has_role(x.grantee, w.id, $MEMBERSHIP)
	union
	select pg_catalog.format('%s may create triggers on %s, which would run with the rights of %s whenever nodes write it', g.name, c.oid::pg_catalog.regclass, pg_catalog.pg_get_userbyid(w.id)),
	    pg_catalog.format('run REVOKE TRIGGER ON %s FROM %s', c.oid::pg_catalog.regclass, g.name)
	  from tables t join pg_catalog.pg_class c on c.oid = t.id cross join powerful w cross join lateral pg_catalog.aclexplode(c.relacl) x
	    cross join lateral (select case x.grantee when 0 then 'PUBLIC' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) end) g (name)
	 where x.privilege_type = 'TRIGGER' and not pg_catalog.pg_has_role(x.grantee, w.id, $MEMBERSHIP)
	 order by 1, 2 limit 20`
