package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectOtherGrants lists what roles that are not ours may do with what the owner of our tables
// owns in our schemas. Trigger functions are among the privileges that are compared with the
// manifest (selectGrants). An adoption grants the owner of its table what triggers need there.
const selectOtherGrants = `
	with ours as (select n.oid, n.nspname, n.nspacl, n.nspowner, e.relowner as owner from pg_namespace n cross join pg_class e where n.nspname in ('recoup', 'cl') and e.oid = 'recoup.error'::regclass::oid),
	thing (kind, name, acl) as (
	  select 'schema', quote_ident(nspname), nspacl from ours where nspowner = owner
	  union all
	  select case c.relkind when 'S' then 'sequence' else 'table' end, format('%I.%I', o.nspname, c.relname), c.relacl
	    from pg_class c join ours o on o.oid = c.relnamespace and o.owner = c.relowner where c.relkind in ('r', 'p', 'v', 'm', 'S')
	  union all
	  select 'table', format('%I.%I', o.nspname, c.relname), a.attacl
	    from pg_attribute a join pg_class c on c.oid = a.attrelid join ours o on o.oid = c.relnamespace and o.owner = c.relowner where a.attacl is not null
	  union all
	  select 'function', p.oid::regprocedure::text, p.proacl from pg_proc p join ours o on o.oid = p.pronamespace and o.owner = p.proowner where p.prorettype <> 'trigger'::regtype)
	select quote_ident(r.rolname), t.kind, t.name, array_agg(distinct lower(a.privilege_type collate "C") order by lower(a.privilege_type collate "C"))
	  from thing t cross join lateral aclexplode(t.acl) a join pg_roles r on r.oid = a.grantee
	 where r.oid <> (select owner from ours limit 1) and r.rolname not in ('recoup_app', 'recoup_writer', 'recoup_reader')
	   and not starts_with(r.rolname, 'recoup_adopter_') and t.name !~ '^recoup\.adopted_[0-9]+_'
	   and not exists (select from recoup.adoption d where d.owner = r.rolname and (t.kind, t.name, a.privilege_type) in
	     (('schema', 'recoup', 'USAGE'), ('table', 'recoup.adopted_change', 'INSERT')))
	   and not exists (select from recoup.adoption d where d.owner = r.rolname and d.state in ('ADOPTING', 'RELEASING') and (t.kind, t.name, a.privilege_type) = ('schema', 'recoup', 'CREATE'))
	 group by 1, 2, 3 order by 1, 2, 3 limit 100`

func readOtherGrants(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, selectOtherGrants)
	if err != nil {
		return err
	}
	f.Server.OtherGrants, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.OtherGrant])
	return err
}

func readDefaultGrants(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `select d.on_what, d.grantee, d.revoke from (`+selectDefaultGrants+`) d
		where d.owner_id = (select relowner from pg_class where oid = 'recoup.error'::regclass::oid) order by 1, 2 limit 100`)
	if err != nil {
		return err
	}
	f.Server.DefaultGrants, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.DefaultGrant])
	return err
}
