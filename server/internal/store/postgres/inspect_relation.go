package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// readNames reads what has the names that the policy gives.
func readNames(ctx context.Context, q querier, i store.Inspection, f *store.Facts) error {
	if i.Policy == nil {
		return nil
	}
	var names, sources []string
	for _, t := range i.Policy.Tables() {
		names, sources = append(names, t.Name), append(sources, "recoup.error")
		if t.Archive != "" {
			names, sources = append(names, t.Archive), append(sources, "recoup.error_archive")
		}
	}
	rows, err := q.Query(ctx, `
		select n.name, case when c.oid is null then '' when recoup.is_view_of(n.name, n.source::regclass) or exists (select from recoup.adoption a where recoup.adopted_source(a.adoption_id) = c.oid) then $3
		    when c.relkind in ('r', 'p') then 'table' when c.relkind in ('v', 'm') then 'view' else 'thing' end,
		  exists (select from recoup.error_table t where n.name in (t.table_name, t.archive_name) and not t.retired),
		  coalesce((select s.kind from recoup.names() s where s.name = n.name and s.standing = 'TAKEN' and s.kind in ('schema', 'missing schema')), '')
		from unnest($1::text[], $2::text[]) with ordinality as n (name, source, place)
		  left join pg_class c on c.oid = to_regclass(format('%I.%I', split_part(n.name, '.', 1), split_part(n.name, '.', 2)))
		order by n.place`, names, sources, store.NameOurs)
	if err != nil {
		return err
	}
	f.Names, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (n store.NameFact, err error) {
		err = row.Scan(&n.Name, &n.Is, &n.Known, &n.Barred)
		return n, err
	})
	return err
}

// describeRelations adds to a list of pg_class what the doctor wants to know of each.
const describeRelations = `
	select format('%s.%s', n.nspname, c.relname), greatest(c.reltuples, 0)::bigint, array_agg(a.attname::text order by a.attnum),
	  array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum), array_agg(coalesce(a.attnum = any (i.indkey), false) order by a.attnum)
	from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
	  left join pg_index i on i.indrelid = c.oid and i.indisprimary `

// readDeadTables reads which of the tables exist that the policy calls dead.
func readDeadTables(ctx context.Context, q querier, i store.Inspection, f *store.Facts) (err error) {
	if i.Policy == nil {
		return nil
	}
	var names []string
	for _, d := range i.Policy.DeadTables {
		names = append(names, d.Name)
	}
	f.DeadTables, err = readRelations(ctx, q, describeRelations+`
		where c.relkind in ('r', 'p', 'f') and format('%s.%s', n.nspname, c.relname) = any ($1) group by 1, 2 order by 1`, names)
	return err
}

// maxLookalikes is how many tables of others are looked at.
const maxLookalikes = 200

// readLookalikes reads tables of others whose names are about failures, or are those of
// queues, and which the policy neither governs nor calls dead.
func readLookalikes(ctx context.Context, q querier, i store.Inspection, f *store.Facts) (err error) {
	f.Lookalikes, err = readRelations(ctx, q, describeRelations+`
		where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't'
		  and n.nspname not in ('recoup', 'cl', 'pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
		  and c.relname collate "C" ~* '(error|fail|dead|dlq|^(river_job|oban_jobs|_private_jobs|job)$)' and format('%s.%s', n.nspname, c.relname) <> all ($1)
		  and not exists (select from recoup.adoption a where recoup.adopted_source(a.adoption_id) = c.oid)
		  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
		group by 1, 2 order by 1 limit $2`, governed(i.Policy), maxLookalikes)
	return err
}

// governed are the names that a policy gives, or calls dead.
func governed(p *policy.Policy) []string {
	names := []string{}
	if p == nil {
		return names
	}
	for _, t := range p.Tables() {
		names = append(names, t.Name, t.Archive)
	}
	for _, d := range p.DeadTables {
		names = append(names, d.Name)
	}
	return names
}

func readRelations(ctx context.Context, q querier, sql string, args ...any) ([]store.Relation, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.Relation, err error) {
		var names, types []string
		var keys []bool
		if err := row.Scan(&r.Name, &r.Rows, &names, &types, &keys); err != nil {
			return r, err
		}
		for i := range names {
			r.Columns = append(r.Columns, store.RelationColumn{Name: names[i], Type: types[i], Key: keys[i]})
		}
		return r, nil
	})
}

// readPartitions reads the months of events and of history, also those that are not
// attached, and which of their guards they lack.
func readPartitions(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `
		with parent (oid, name, guards) as (values
		  ('recoup.error_event'::regclass::oid, 'error_event', '{known_codes,forbidden,forbidden_truncate}'::text[]),
		  ('recoup.transition'::regclass::oid, 'transition', '{forbidden,forbidden_truncate}'::text[]))
		select p.name, c.relname, h.inhrelid is not null, coalesce(pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', false),
		  array(select g from unnest(p.guards) g where h.inhrelid is not null and not exists (select from pg_trigger t
		    where t.tgrelid = c.oid and t.tgname = g and t.tgenabled not in ('D', 'R')))
		from parent p join pg_class c on c.relnamespace = 'recoup'::regnamespace and c.relkind in ('r', 'p')
		  left join pg_inherits h on h.inhrelid = c.oid and h.inhparent = p.oid
		where h.inhrelid is not null or c.relname ~ ('^' || p.name || '_y\d{4}m\d{2}$') order by 1, 2`)
	if err != nil {
		return err
	}
	f.Partitions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p store.Partition, err error) {
		err = row.Scan(&p.Parent, &p.Name, &p.Attached, &p.Default, &p.Lacks)
		return p, err
	})
	for i := range f.Partitions {
		if p := &f.Partitions[i]; err == nil && p.Default {
			err = q.QueryRow(ctx, "select exists (select from "+pgx.Identifier{"recoup", p.Name}.Sanitize()+" limit 1)").Scan(&p.Rows)
		}
	}
	return err
}
