package postgres

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// checkDefaultGrants lists default privileges that would give other roles what migrations make,
// and every partition and view that is made later.
func checkDefaultGrants(ctx context.Context, db reader) ([]Obstacle, error) {
	return readList(ctx, db, `select d.on_what, 'default privileges on', d.owner, 'they grant it to ' || d.grantee || '; run ' || d.revoke
		from (`+selectDefaultGrants+`) d, pg_roles r where r.rolname = current_user and d.owner_id = r.oid order by 1, 4`, obstacle)
}

// selectDefaultGrants lists default privileges that apply in our schemas, by the role for whose
// objects they are, and grant to anyone but that role and ours what PostgreSQL by itself would not.
const selectDefaultGrants = `
	select distinct d.defaclrole as owner_id, pg_get_userbyid(d.defaclrole)::text as owner, w.what || coalesce(' in schema ' || n.nspname, '') as on_what,
	    coalesce(quote_ident(g.rolname), 'public') as grantee,
	    format('alter default privileges for role %I%s revoke all on %s from %s', pg_get_userbyid(d.defaclrole), ' in schema ' || n.nspname, w.what, coalesce(quote_ident(g.rolname), 'public')) as revoke
	  from pg_default_acl d cross join lateral aclexplode(d.defaclacl) a left join pg_namespace n on n.oid = d.defaclnamespace left join pg_roles g on g.oid = a.grantee
	  join (values ('r'::"char", 'tables'), ('S', 'sequences'), ('f', 'functions'), ('T', 'types'), ('n', 'schemas')) as w (kind, what) on w.kind = d.defaclobjtype
	 where (d.defaclnamespace = 0 or n.nspname in ('recoup', 'cl')) and a.grantee <> d.defaclrole
	   and coalesce(g.rolname not in ('recoup_app', 'recoup_writer', 'recoup_reader'), true)
	   and not exists (select from aclexplode(acldefault(case d.defaclobjtype when 'S' then 's'::"char" else d.defaclobjtype end, d.defaclrole)) b
	     where b.grantee = a.grantee and b.privilege_type = a.privilege_type)`

// RoleAdmins lists the roles that may grant a role of ours to themselves. Migrations do not refuse
// them: roles belong to all databases of a server, so the owner of another one's schema is such a
// role, and at a managed service no superuser is there to revoke what the administrator got when
// he created the roles.
func RoleAdmins(ctx context.Context, url string) (list []store.RoleAdmin, err error) {
	err = readAt(ctx, url, func(db reader) (err error) {
		list, err = readList(ctx, db, selectRoleAdmins, func(a *store.RoleAdmin) []any { return []any{&a.Role, &a.Admin, &a.Revoke} })
		return err
	})
	return list, failure("read who may grant roles", err)
}

// selectRoleAdmins lists the members with ADMIN OPTION of our roles. Superusers, the schema's owner,
// and roles that can act as the owner, or the owner as them, gain nothing. Until PostgreSQL 15 every
// role with CREATEROLE may grant any role, and is not listed.
const selectRoleAdmins = `
	select r.rolname::text, a.rolname::text, format('revoke admin option for %I from %I', r.rolname, a.rolname)
	    || case when current_setting('server_version_num')::int >= 160000 then format(' granted by %I', pg_get_userbyid(m.grantor)) else '' end
	  from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles a on a.oid = m.member
	  join pg_namespace n on n.nspname = 'recoup'
	 where r.rolname in ('recoup_app', 'recoup_writer', 'recoup_reader') and m.admin_option and not a.rolsuper
	   and not pg_has_role(a.oid, n.nspowner, 'member') and not pg_has_role(n.nspowner, a.oid, 'member')
	 order by 1, 2, 3`
