package pgsession

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Owner describes the owner of the schema recoup and the user of a session.
type Owner struct {
	User   string // of the session
	Acting string // current_user; another than User only if the session was not started by this package
	Schema string // owner of the schema recoup; empty: the schema does not exist
	Super  bool   // the owner is a superuser
	More   string // rights of the user that the owner lacks; empty: none
	Revoke string // statements that take those rights from the user which come from memberships; empty: none do
}

// OwnerQuery selects an [Owner]. Rights are role attributes, ownership of the database, and
// membership in predefined roles, as far as the user can obtain them with SET ROLE. Membership in
// other roles does not count. Before PostgreSQL 15 every role can make any other its member, so there
// a membership that the granted role itself has granted does not count either, unless that role is a
// superuser.
const OwnerQuery = `
	with recursive self as (select r.oid, r.rolname, r.rolsuper from pg_catalog.pg_roles r where r.rolname = session_user),
	schema as (select o.oid, o.rolname, o.rolsuper, o.rolcreaterole, o.rolreplication, o.rolbypassrls
	  from pg_catalog.pg_namespace n join pg_catalog.pg_roles o on o.oid = n.nspowner where n.nspname = 'recoup'),
	may_act_as (role, first) as (
	  select oid, 0::pg_catalog.oid from self
	  union
	  select m.roleid, case when c.first = 0 then m.roleid else c.first end from may_act_as c join pg_catalog.pg_auth_members m on m.member = c.role
	    join pg_catalog.pg_roles r on r.oid = m.roleid
	   where m.grantor <> m.roleid or r.rolsuper or pg_catalog.current_setting('server_version_num')::int >= 150000),
	more (name, first) as (
	  select 'SUPERUSER', 0::pg_catalog.oid from self where rolsuper
	  union
	  select w.name, c.first from self u cross join schema o join may_act_as c on not u.rolsuper join pg_catalog.pg_roles r on r.oid = c.role
	    cross join lateral (values (r.rolsuper, 'SUPERUSER'), (r.rolcreaterole and not o.rolcreaterole, 'CREATEROLE'),
	      (r.rolreplication and not o.rolreplication, 'REPLICATION'), (r.rolbypassrls and not o.rolbypassrls, 'BYPASSRLS'),
	      (r.oid < 16384 and pg_catalog.starts_with(r.rolname, 'pg_') and not pg_catalog.pg_has_role(o.oid, r.oid, 'member')
	        and r.rolname <> all (array['pg_database_owner', 'pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables']), 'membership in ' || r.rolname)) w (has, name)
	   where w.has
	  union
	  select 'ownership of the database', c.first from self u cross join schema o join may_act_as c on not u.rolsuper
	    join pg_catalog.pg_database d on d.datname = pg_catalog.current_database() and d.datdba = c.role
	   where not pg_catalog.pg_has_role(o.oid, d.datdba, 'member'))
	select u.rolname::text, current_user::text, coalesce(o.rolname::text, ''), coalesce(o.rolsuper, false), coalesce((select pg_catalog.string_agg(distinct name, ', ') from more), ''),
	  coalesce((select pg_catalog.string_agg(distinct pg_catalog.format('REVOKE %I FROM %I', r.rolname, u.rolname), '; ') from more m join pg_catalog.pg_roles r on r.oid = m.first), '')
	  from self u left join schema o on true`

// ScanOwner reads the row of [OwnerQuery].
func ScanOwner(row interface{ Scan(into ...any) error }) (o Owner, err error) {
	if err := row.Scan(&o.User, &o.Acting, &o.Schema, &o.Super, &o.More, &o.Revoke); err != nil {
		return o, fmt.Errorf("read the owner of the schema recoup: %w", err)
	}
	return o, nil
}

// Limited reports whether the user has no right that the owner lacks and is not the owner, as the
// roles of nodes and of readers. Code of the owner gains nothing in such a session.
func (o Owner) Limited() bool { return o.User != o.Schema && o.More == "" }

// ErrRole is wrapped by what says that a session acts as another role than its user.
var ErrRole = errors.New("the session must act as the user who is logged in")

// CheckRole refuses a session that acts as another role than its user.
func (o Owner) CheckRole() error {
	if o.Acting == o.User {
		return nil
	}
	return fmt.Errorf("%w: the session of %s acts as %s. Remove the setting role (ALTER DATABASE … RESET role, ALTER ROLE … RESET role), or connect as %[3]s", ErrRole, o.User, o.Acting)
}

// Check refuses a session in which code of the schema's owner would gain rights: the owner can
// replace the functions of the schema. Stated is the owner that the user expects and trusts; empty:
// none was stated. A stated owner must be the owner.
func (o Owner) Check(stated string) error {
	if err := o.CheckRole(); err != nil {
		return err
	}
	switch {
	case stated != "" && o.Schema != "" && stated != o.Schema:
		return &OwnerError{o, stated}
	case o.Schema == "" || o.User == o.Schema || o.Super || stated == o.Schema || o.More == "":
		return nil
	}
	return &OwnerError{o, stated}
}

// CheckAdministrator is [Owner.Check] for commands that act for several roles: membership in other
// roles counts too, so every user but the owner must state it.
func (o Owner) CheckAdministrator(stated string) error {
	if err := o.Check(stated); err != nil || o.Schema == "" || o.User == o.Schema || o.Super || stated == o.Schema {
		return err
	}
	return &OwnerError{o, stated}
}

// OwnerError is returned when the schema recoup belongs to a role that the user does not trust.
type OwnerError struct {
	Owner

	Stated string // owner that was expected; empty: none was stated
}

// Why is the reason of the refusal.
func (e *OwnerError) Why() string {
	if e.Stated != "" {
		return fmt.Sprintf("the schema recoup belongs to %s, and --schema-owner is %s", e.Schema, e.Stated)
	}
	rights := "may act as other roles"
	if e.More != "" {
		rights = "has rights that " + e.Schema + " lacks (" + e.More + ")"
	}
	return fmt.Sprintf("the schema recoup belongs to %s, and %s %s: functions in the schema would run with these rights", e.Schema, e.User, rights)
}

// Way is what to do about it.
func (e *OwnerError) Way() string {
	way := fmt.Sprintf("connect as %[1]s; or, if %[1]s installed Recoup and may have the rights of %[2]s, set --schema-owner %[1]s (RECOUP_SCHEMA_OWNER); if not, review and drop the schema", e.Schema, e.User)
	if e.Revoke != "" && e.Stated == "" {
		way += fmt.Sprintf(". If %s does not need the memberships, run %s as an administrator", e.User, e.Revoke)
	}
	return way
}

func (e *OwnerError) Error() string { return e.Why() + ": " + e.Way() }

// Object is something in a schema of Recoup that belongs to another role than the schema recoup.
type Object struct {
	Name   string
	Owner  string
	Wanted string // owner of the schema recoup, quoted for SQL
}

// ForeignError is returned when objects in Recoup's schemas belong to roles that the user does not
// trust.
type ForeignError struct{ Objects []Object }

func (e *ForeignError) Error() string {
	var text strings.Builder
	text.WriteString("objects of Recoup's schemas belong to other roles, whose code would run with the rights of this user. Review them, then drop them or change their owner:")
	for _, o := range e.Objects {
		fmt.Fprintf(&text, "\n  %s (owner %s, expected %s)", o.Name, o.Owner, o.Wanted)
	}
	return text.String()
}

// Querier is a connection, a transaction or a pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// foreignQuery lists what is in the schema recoup, what has one of our names ($1) in the schema cl,
// and the schema cl, if its owner is neither that of the schema recoup nor a superuser. Objects of
// adoptions belong to the owners of adopted tables; they run on connections of their own.
const foreignQuery = `
	with recoup as (select oid, nspowner from pg_catalog.pg_namespace where nspname = 'recoup'),
	ours as (select oid, nspname from pg_catalog.pg_namespace where nspname in ('recoup', 'cl')),
	thing (class, id, schema, name, owner) as (
	  select 'pg_catalog.pg_namespace'::pg_catalog.regclass, n.oid, n.nspname, '', n.nspowner from pg_catalog.pg_namespace n where n.nspname = 'cl' and pg_catalog.cardinality($1::text[]) > 0
	  union all select 'pg_catalog.pg_class'::pg_catalog.regclass, c.oid, o.nspname, c.relname, c.relowner from pg_catalog.pg_class c join ours o on o.oid = c.relnamespace where c.relkind not in ('i', 'I', 't')
	  union all select 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, o.nspname, p.proname, p.proowner from pg_catalog.pg_proc p join ours o on o.oid = p.pronamespace
	  union all select 'pg_catalog.pg_operator'::pg_catalog.regclass, p.oid, o.nspname, p.oprname, p.oprowner from pg_catalog.pg_operator p join ours o on o.oid = p.oprnamespace
	  union all select 'pg_catalog.pg_type'::pg_catalog.regclass, t.oid, o.nspname, t.typname, t.typowner from pg_catalog.pg_type t join ours o on o.oid = t.typnamespace
	    where t.typrelid = 0 and not exists (select from pg_catalog.pg_type e where e.typarray = t.oid))
	select pg_catalog.pg_describe_object(t.class::pg_catalog.oid, t.id, 0), pg_catalog.pg_get_userbyid(t.owner)::text, pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(r.nspowner))
	  from thing t cross join recoup r join pg_catalog.pg_roles w on w.oid = t.owner
	 where t.owner <> r.nspowner and not w.rolsuper
	   and case t.schema when 'recoup' then t.name !~ '^adopted_[0-9]+_' else t.name = '' or t.name = any ($1::text[]) end
	 order by 1 limit 100`

// ReadOwner reads who owns the schema recoup.
func ReadOwner(ctx context.Context, q Querier) (Owner, error) {
	return ScanOwner(q.QueryRow(ctx, OwnerQuery))
}

// CheckObjects refuses objects of others in Recoup's schemas, unless the user is limited. Names are
// those of Recoup in the schema cl; none: that schema is not used.
func CheckObjects(ctx context.Context, q Querier, o Owner, names []string) error {
	if o.Limited() {
		return nil
	}
	if names == nil {
		names = []string{} // nil would be null
	}
	rows, err := q.Query(ctx, foreignQuery, names)
	if err != nil {
		return fmt.Errorf("read the owners of objects: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Object])
	if err == nil && len(found) > 0 {
		err = &ForeignError{found}
	}
	return err
}
