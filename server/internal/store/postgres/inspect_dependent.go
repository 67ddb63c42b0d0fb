package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectDependents lists the objects of other roles that depend on a table or view in our schemas,
// or on its row type. A role needs no privilege on a table to create a view over it. Objects of an
// adoption belong to the owner of the adopted table. What has no data is dropped together with a
// partition (recoup.drops_views_only). A cast has no owner: that of its function is shown, or that of
// its other type. Objects whose owner is not known are listed too. Only the owner of a table can
// publish it.
const selectDependents = `
	with ours as (select c.oid, c.relowner as owner, c.relispartition as month, format('%I.%I', n.nspname, c.relname) as name
	    from pg_class c join pg_namespace n on n.oid = c.relnamespace
	   where n.nspname in ('recoup', 'cl') and c.relkind in ('r', 'p', 'v', 'S') and c.relowner = (select relowner from pg_class where oid = 'recoup.error'::regclass::oid)),
	target (class, id, rel) as (
	  select 'pg_class'::regclass::oid, oid, oid from ours
	  union all select 'pg_type'::regclass::oid, t.oid, o.oid from ours o join pg_type t on t.typrelid = o.oid
	  union all select 'pg_type'::regclass::oid, t.typarray, o.oid from ours o join pg_type t on t.typrelid = o.oid),
	dependent as materialized (select distinct d.classid, d.objid, d.objsubid, t.rel from target t join pg_depend d on d.refclassid = t.class and d.refobjid = t.id
	    where d.deptype in ('n', 'a') and d.classid <> 'pg_publication_rel'::regclass::oid),
	thing as (
	  select case when r.relkind in ('v', 'm') and d.classid = 'pg_rewrite'::regclass::oid then 'pg_class'::regclass::oid else d.classid end as class,
	      case when r.relkind in ('v', 'm') and d.classid = 'pg_rewrite'::regclass::oid then r.oid else d.objid end as id,
	      case when d.classid = 'pg_class'::regclass::oid and r.relkind not in ('v', 'm') then d.objsubid else 0 end as part,
	      d.rel, coalesce(r.relowner, p.proowner, t.typowner, b.oprowner, l.opcowner, h.opfowner, x.stxowner, s.owner) as owner,
	      coalesce(r.relname, p.proname, t.typname) as name, coalesce(r.relnamespace, p.pronamespace, t.typnamespace) as place,
	      coalesce(p.oid, t.oid, w.oid, b.oid, l.oid, h.oid, s.oid) is null and coalesce(r.relkind <> 'v', true) or coalesce(r.relkind = 'm' and r.relispopulated, false) as keeps,
	      case
	        when r.relkind = 'v' then format('drop view %s', r.oid::regclass)
	        when r.relkind = 'm' then format('drop materialized view %s', r.oid::regclass)
	        when w.oid is not null then format('drop rule %I on %s', w.rulename, r.oid::regclass)
	        when k.oid is not null then format('alter table %s drop constraint %I', r.oid::regclass, k.conname)
	        when a.attname is not null then format('alter table %s drop column %I', r.oid::regclass, a.attname)
	        when r.oid is not null and exists (select from pg_inherits i where i.inhrelid = r.oid and i.inhparent = d.rel)
	          then format('alter table %s no inherit %s', r.oid::regclass, d.rel::regclass)
	        when p.oid is not null then format('drop routine %s', p.oid::regprocedure)
	        when t.typtype = 'd' then format('drop domain %s', t.oid::regtype)
	        when b.oid is not null then format('drop operator %s', b.oid::regoperator)
	        when s.oid is not null then format('drop cast (%s as %s)', format_type(s.castsource, null), format_type(s.casttarget, null))
	        when l.oid is not null then (select format('drop operator class %s.%I using %I', l.opcnamespace::regnamespace, l.opcname, m.amname) from pg_am m where m.oid = l.opcmethod)
	        when h.oid is not null then (select format('drop operator family %s.%I using %I', h.opfnamespace::regnamespace, h.opfname, m.amname) from pg_am m where m.oid = h.opfmethod)
	        else '' end as way
	    from dependent d
	    left join pg_rewrite w on d.classid = 'pg_rewrite'::regclass::oid and w.oid = d.objid
	    left join pg_constraint k on d.classid = 'pg_constraint'::regclass::oid and k.oid = d.objid
	    left join pg_attrdef f on d.classid = 'pg_attrdef'::regclass::oid and f.oid = d.objid
	    left join pg_policy y on d.classid = 'pg_policy'::regclass::oid and y.oid = d.objid
	    left join pg_trigger g on d.classid = 'pg_trigger'::regclass::oid and g.oid = d.objid
	    left join pg_class r on r.oid = coalesce(w.ev_class, k.conrelid, f.adrelid, y.polrelid, g.tgrelid, case d.classid when 'pg_class'::regclass::oid then d.objid end)
	    left join pg_attribute a on d.classid = 'pg_class'::regclass::oid and a.attrelid = d.objid and a.attnum = d.objsubid and d.objsubid > 0
	    left join pg_proc p on d.classid = 'pg_proc'::regclass::oid and p.oid = d.objid
	    left join pg_type t on d.classid = 'pg_type'::regclass::oid and t.oid = d.objid
	    left join pg_operator b on d.classid = 'pg_operator'::regclass::oid and b.oid = d.objid
	    left join pg_opclass l on d.classid = 'pg_opclass'::regclass::oid and l.oid = d.objid
	    left join pg_amop n on d.classid = 'pg_amop'::regclass::oid and n.oid = d.objid
	    left join pg_amproc q on d.classid = 'pg_amproc'::regclass::oid and q.oid = d.objid
	    left join pg_opfamily h on h.oid = coalesce(n.amopfamily, q.amprocfamily, case d.classid when 'pg_opfamily'::regclass::oid then d.objid end)
	    left join pg_statistic_ext x on d.classid = 'pg_statistic_ext'::regclass::oid and x.oid = d.objid
	    left join lateral (select c.oid, c.castsource, c.casttarget, coalesce((select u.proowner from pg_proc u where u.oid = c.castfunc),
	        (select u.typowner from pg_type u where u.oid = case when exists (select from target g where g.class = 'pg_type'::regclass::oid and g.id = c.castsource) then c.casttarget else c.castsource end)) as owner
	      from pg_cast c where d.classid = 'pg_cast'::regclass::oid and c.oid = d.objid) s on true)
	select distinct pg_describe_object(t.class, t.id, t.part), coalesce(pg_get_userbyid(t.owner)::text, 'unknown'), o.name, o.month, o.month and t.keeps, t.way
	  from thing t join ours o on o.oid = t.rel
	 where t.owner is distinct from o.owner
	   and not (coalesce(t.place = 'recoup'::regnamespace::oid, false) and exists (select from recoup.adoption a where starts_with(t.name, format('adopted_%s_', a.adoption_id))))
	 order by 1, 3 limit 100`

func readDependents(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, selectDependents)
	if err != nil {
		return err
	}
	f.Server.Dependents, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.Dependent])
	return err
}
