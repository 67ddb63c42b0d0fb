package adoption

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// readAdoptions reads how adopted tables are: what their owner, or a restore, has taken
// away of what an adoption needs, and since when changes wait for a node.
func readAdoptions(ctx context.Context, q postgres.Querier, f *store.Facts) error {
	rows, err := q.Query(ctx, `
		select a.adoption_id, a.source, a.state, a.begun_at, c.oid is null, a.table_name,
		  not exists (select from recoup.error_table t where t.table_name = a.table_name and not t.retired),
		  array(select t.name || ' on ' || p.relid::regclass::text
		    from (select relid from pg_partition_tree(c.oid) union select c.oid) p (relid),
		      unnest('{insert,update,delete,truncate,replicated}'::text[]) with ordinality as w (what, place),
		      format('adopted_%s_%s', a.adoption_id, w.what) as t (name)
		    where c.oid is not null and not exists (select from pg_trigger g where g.tgrelid = p.relid and g.tgname = t.name and g.tgenabled = case w.what when 'replicated' then 'R' else 'A' end and g.tgfoid = to_regproc('recoup.' || t.name))
		    order by p.relid::regclass::text, w.place)
		  || array(select 'function recoup.' || p.name from unnest('{read,scan}'::text[]) with ordinality as w (what, place),
		      format('adopted_%s_%s', a.adoption_id, w.what) as p (name)
		    where not exists (select from pg_proc x join pg_namespace n on n.oid = x.pronamespace where n.nspname = 'recoup' and x.proname = p.name)
		    order by w.place)
		  || array(select 'view recoup.' || v.name from format('adopted_%s_recoup_release_first', a.adoption_id) as v (name)
		    where not exists (select from pg_class x where x.relnamespace = 'recoup'::regnamespace and x.relname = v.name and x.relkind = 'v'))
		  || array(select format('view recoup.adopted_%s_source', a.adoption_id) where recoup.bound_source(a.adoption_id) is null)
		  || array(select 'adopted on ' || r from unnest('{recoup.error,recoup.error_archive}'::text[]) with ordinality as w (r, place)
		    where not exists (select from pg_trigger g where g.tgrelid = r::regclass and g.tgname = 'adopted' and g.tgenabled <> 'D') order by w.place),
		  (select x.at from recoup.adopted_change x where x.adoption_id = a.adoption_id order by x.change_id limit 1), b.n, coalesce(b.key, ''), coalesce(b.cause, ''),
		  array(select n.attname::text from pg_attribute n where n.attrelid = c.oid and n.attnum > 0 and not n.attisdropped order by n.attnum),
		  array(select distinct w.name from unnest(a.key_columns || array(select j.value from jsonb_each_text(a.mapping) j
		      where j.key in ('entity', 'code', 'message', 'severity', 'created_at', 'disposition', 'archived_at') and j.value <> '' and strpos(j.value, '->>') = 0)) w (name)
		    where not exists (select from pg_attribute n where n.attrelid = c.oid and n.attname = w.name and n.attnum > 0 and not n.attisdropped) order by 1),
		  case when replace(a.source, '"', '') <> replace(s.nspname || '.' || c.relname, '"', '') then format('%I.%I', s.nspname, c.relname) else '' end,
		  coalesce(pg_get_userbyid(c.relowner) <> a.owner, false) or exists (`+strange+`), a.agreed, a.kept_back, coalesce(a.kept_why, ''),
		  coalesce(quote_ident(pg_get_userbyid(i.proowner)), ''), array(select w.lacks from (values
		      (1, 'usage on schema recoup', has_schema_privilege(i.proowner, 'recoup', 'usage')),
		      (2, 'insert (' || o.columns || ') on recoup.adopted_change', o.may)) w (place, lacks, has) where not w.has order by w.place),
		  array(select coalesce(m.key, n.key) from jsonb_each(a.made) m full join jsonb_each(recoup.adopted_functions(a.adoption_id)) n on n.key = m.key
		    where m.value is distinct from n.value and a.made <> '{}' order by 1),
		  coalesce(l.role::text, ''), case when l.adoption_id is null then '' when l.role is null then 'own' when starts_with(l.role::text, 'recoup_adopter_') and l.role <> format('recoup_adopter_%s_%s', (select d.oid from pg_database d where d.datname = current_database()), a.adoption_id) then 'foreign'
		    when u.oid is null then 'missing' when not has_schema_privilege(u.oid, 'recoup', 'usage') or r.unusable then 'unusable' when r.public then 'public' else '' end,
		  f.n, coalesce(f.key, ''), coalesce(f.cause, ''),
		  (select count(*) from pg_partition_tree(c.oid) p where p.level > 0), a.unseen_since, coalesce(a.unseen_why, '')
		from recoup.adoption a cross join lateral (`+unreadable+`) b cross join lateral (`+refused+`) f left join pg_class c on c.oid = recoup.adopted_source(a.adoption_id) left join pg_namespace s on s.oid = c.relnamespace
		left join recoup.adoption_login l on l.adoption_id = a.adoption_id left join pg_roles u on u.rolname = l.role
		left join lateral (select bool_or(p.proname ~ '_(read|scan|last|mirror)$' and not has_function_privilege(u.oid, p.oid, 'execute')) as unusable,
		    bool_or(exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x where x.grantee = 0)) as public
		  from pg_proc p where p.pronamespace = 'recoup'::regnamespace and starts_with(p.proname, format('adopted_%s_', a.adoption_id))) r on true
		left join pg_proc i on i.pronamespace = 'recoup'::regnamespace and i.proname = format('adopted_%s_insert', a.adoption_id)
		left join lateral (select string_agg(n.attname, ', ' order by n.attnum) as columns, bool_and(has_column_privilege(i.proowner, n.attrelid, n.attnum, 'insert')) as may
		  from pg_attribute n where n.attrelid = 'recoup.adopted_change'::regclass and n.attnum > 0 and n.attidentity = '' and not n.atthasdef and not n.attisdropped) o on true
		order by a.source limit 1000`)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Fact, err error) {
		var waiting, unseen *time.Time
		err = row.Scan(&a.ID, &a.Source, &a.State, &a.BegunAt, &a.Gone, &a.Table, &a.Retired, &a.Missing, &waiting, &a.Unreadable, &a.Example.Key, &a.Example.Cause,
			&a.Columns, &a.Lost, &a.Renamed, &a.Given, &a.Agreed, &a.KeptBack, &a.KeptWhy, &a.Noter, &a.Lacks, &a.Altered, &a.Role, &a.Login, &a.Refused, &a.Refuser.Key, &a.Refuser.Cause,
			&a.Partitions, &unseen, &a.UnseenWhy)
		if waiting != nil {
			a.WaitingSince = *waiting
		}
		if unseen != nil {
			a.UnseenSince = *unseen
		}
		return a, err
	})
	AddFacts(f, list)
	return err
}

// readUnlimited reads which login roles of adoptions can have too many connections.
func readUnlimited(ctx context.Context, q postgres.Querier, f *store.Facts) error {
	list := FactsOf(f)
	for i := range list {
		a := &list[i]
		err := q.QueryRow(ctx, `select coalesce((select format('alter role %I connection limit %s', r.rolname, $2::int) from recoup.adoption_login l join pg_roles r on r.rolname = l.role
			where l.adoption_id = $1 and l.role ~ '^recoup_adopter_' and r.rolconnlimit not between 0 and $2 limit 1), '')`, a.ID, pgsession.AdopterConnections).Scan(&a.Unlimited)
		if err != nil {
			return err
		}
	}
	return nil
}

// readForeignCode reads which code of other roles would run with the rights of the functions of adoptions.
func readForeignCode(ctx context.Context, q postgres.Querier, f *store.Facts) error {
	list := FactsOf(f)
	for i := range list {
		a := &list[i]
		err := q.QueryRow(ctx, "select x.why, x.way from (values ($1::int)) a (adoption_id) cross join lateral ("+foreignCode+") x", a.ID).Scan(&a.Foreign, &a.ForeignWay)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	return nil
}

// reachSources checks whether this node can connect to the adopted tables.
func (s *DB) reachSources(ctx context.Context, f *store.Facts) {
	list := FactsOf(f)
	for i := range list {
		conn, _, err := s.connectSource(ctx, list[i].ID)
		if err != nil {
			list[i].Unreachable = err.Error()
			continue
		}
		_ = conn.Close(ctx)
	}
}

// recognise notes which tables of others are those of job queues.
func recognise(f *store.Facts) {
	for i := range f.Lookalikes {
		r := &f.Lookalikes[i]
		columns := make([]preset.Column, len(r.Columns))
		for n, c := range r.Columns {
			columns[n] = preset.Column{Name: c.Name, Type: c.Type}
		}
		if p := preset.Recognise(columns); p != nil {
			r.Queue = &store.JobQueue{Name: p.Name, Of: p.Of}
		}
	}
}
