package postgres

import (
	"context"
	_ "embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// manifest is the schema as the migrations make it, one object in a line: kind, name and
// definition, with tabs between them. A test holds it to the migrations and rewrites it.
//
//go:embed schema.manifest
var manifest string

// expectedSchema reads the manifest.
func expectedSchema() (list []store.Object) {
	functions := functionTexts()
	for line := range strings.Lines(manifest) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(part) != 3 {
			continue
		}
		o := store.Object{Kind: part[0], Name: part[1], Definition: part[2]}
		if o.Kind == store.ObjectFunction {
			name, _, _ := strings.Cut(o.Name, "(")
			o.Source = functions[name]
		}
		list = append(list, o)
	}
	return list
}

// functionHead is how the migrations begin a function.
var functionHead = regexp.MustCompile(`(?m)^create (?:or replace )?function ((?:recoup|cl)\.[a-z_]+)\(`)

// functionTexts returns the statement of each function, as the last migration that has it
// made it. One of a name that has more than one signature is left out.
func functionTexts() map[string]string {
	texts, _ := fs.Glob(migrationFiles, "migrations/*.sql")
	found := map[string]string{}
	for _, file := range texts {
		text, _ := fs.ReadFile(migrationFiles, file)
		for _, at := range functionHead.FindAllSubmatchIndex(text, -1) {
			statement := firstStatement(string(text[at[0]:]))
			found[string(text[at[2]:at[3]])] = "create or replace function " + string(text[at[2]:at[0]+len(statement)])
		}
	}
	return found
}

// firstStatement returns a text up to the semicolon that ends its first statement, without
// it: one in quotes ends nothing.
func firstStatement(text string) string {
	quote := ""
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case quote != "" && strings.HasPrefix(rest, quote):
			i += len(quote) - 1
			quote = ""
		case quote != "":
		case strings.HasPrefix(rest, "$$"):
			quote = "$$"
			i++
		case rest[0] == '\'':
			quote = "'"
		case rest[0] == ';':
			return text[:i]
		}
	}
	return text
}

// selectSchema describes what there is in our schemas. Partitions come and go, and are
// looked at apart; what others have added to the schemas is there too. Definitions are in
// one line and name everything with its schema, because nothing but pg_catalog is in the
// path. (Constraints of PostgreSQL 18 that say NOT NULL are with their columns; 13 writes
// AT TIME ZONE and EXTRACT as the functions that they are.)
const selectSchema = `
	with ours as (select oid, nspname from pg_namespace where nspname in ('recoup', 'cl')),
	relation as (select c.oid, c.relkind, format('%I.%I', o.nspname, c.relname) as name from pg_class c join ours o on o.oid = c.relnamespace
	  where not c.relispartition and c.relkind in ('r', 'p', 'v')),
	object (kind, name, definition, state) as (
	  select case relkind when 'v' then 'view' else 'table' end, name, relkind::text, '' from relation
	  union all
	  select 'trigger', format('%I on %s', t.tgname, r.name), pg_get_triggerdef(t.oid), case when t.tgenabled in ('D', 'R') then 'disabled' else '' end
	    from pg_trigger t join relation r on r.oid = t.tgrelid where not t.tgisinternal
	  union all
	  select 'function', p.oid::regprocedure::text, md5(concat_ws('|', l.lanname, p.prosrc, p.provolatile, p.prosecdef, p.proisstrict,
	      p.prorettype::regtype, array_to_string(p.proconfig, ','))), ''
	    from pg_proc p join ours o on o.oid = p.pronamespace join pg_language l on l.oid = p.prolang
	  union all
	  select 'index', format('%I.%I', o.nspname, c.relname), pg_get_indexdef(i.indexrelid), case when i.indisvalid and i.indisready then '' else 'invalid' end
	    from pg_index i join relation r on r.oid = i.indrelid join pg_class c on c.oid = i.indexrelid join ours o on o.oid = c.relnamespace
	  union all
	  select 'constraint', format('%I on %s', k.conname, r.name), pg_get_constraintdef(k.oid), case when k.convalidated then '' else 'invalid' end
	    from pg_constraint k join relation r on r.oid = k.conrelid where k.contype in ('c', 'f', 'p', 'u', 'x')
	  union all
	  select 'column', format('%s.%I', r.name, a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
	      case a.attgenerated when 's' then 'generated' end, case when a.attidentity <> '' then 'identity' end,
	      case a.attstattarget when 0 then 'without statistics' end, 'default ' || pg_get_expr(d.adbin, d.adrelid)), ''
	    from pg_attribute a join relation r on r.oid = a.attrelid and r.relkind <> 'v' left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
	    where a.attnum > 0 and not a.attisdropped)
	select kind, name, regexp_replace(regexp_replace(regexp_replace(definition, '\s+', ' ', 'g'), 'timezone\(''UTC''::text, (\w+)\)', '(\1 AT TIME ZONE ''UTC''::text)', 'g'),
	  'date_part\(''(\w+)''::text, (\w+)\)', 'EXTRACT(\1 FROM \2)', 'g'), state from object order by kind collate "C", name collate "C"`

func readSchema(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	list, err := readObjects(ctx, q, selectSchema)
	f.Present = append(f.Present, list...)
	return err
}

// selectGrants lists what our roles and everybody may do with each thing in our schemas,
// and which role else may execute a trigger function. Partitions, and the views that carry
// the policy's names, are granted as they are made.
const selectGrants = `
	with ours as (select oid, nspname, nspacl, nspowner from pg_namespace where nspname in ('recoup', 'cl')),
	thing (name, owner, acl, guards) as (
	  select 'schema ' || quote_ident(nspname), nspowner, nspacl, false from ours
	  union all
	  select format('%I.%I', o.nspname, c.relname), c.relowner, c.relacl, false from pg_class c join ours o on o.oid = c.relnamespace
	    where not c.relispartition and c.relkind in ('r', 'p', 'v', 'S')
	  union all
	  select format('%I.%I(columns)', o.nspname, c.relname), c.relowner, a.attacl, false from pg_attribute a join pg_class c on c.oid = a.attrelid join ours o on o.oid = c.relnamespace
	    where a.attacl is not null and not c.relispartition
	  union all
	  select p.oid::regprocedure::text, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)), p.prorettype = 'trigger'::regtype from pg_proc p join ours o on o.oid = p.pronamespace)
	select 'grant', coalesce(r.rolname, 'public') || ' on ' || t.name, string_agg(distinct lower(a.privilege_type collate "C"), ', ' order by lower(a.privilege_type collate "C")), ''
	  from thing t cross join lateral aclexplode(t.acl) a left join pg_roles r on r.oid = a.grantee
	  where (a.grantee = 0 or r.rolname in ('recoup_app', 'recoup_writer', 'recoup_reader') or t.guards
	    or starts_with(r.rolname, 'recoup_adopter_') and t.name <> 'schema recoup' and t.name !~ '^recoup\.adopted_[0-9]+_') and a.grantee <> t.owner
	  group by 2 order by 2`

func readGrants(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	list, err := readObjects(ctx, q, selectGrants)
	if err != nil {
		return err
	}
	f.Present = append(f.Present, list...)
	var secured bool
	err = q.QueryRow(ctx, "select coalesce((select relrowsecurity from pg_class where oid = to_regclass('recoup.error_event')), false)").Scan(&secured)
	if secured {
		f.Expected = slices.DeleteFunc(f.Expected, revokedBySecurity)
	}
	return err
}

// revokedBySecurity reports whether an object is a grant that recoup.grant_reader revokes while row
// security is on.
func revokedBySecurity(o store.Object) bool {
	return o.Kind == store.ObjectGrant && slices.Contains([]string{
		"recoup_reader on recoup.error", "recoup_reader on recoup.error_archive", "recoup_reader on recoup.source_detail(columns)",
	}, o.Name)
}

func readObjects(ctx context.Context, q querier, sql string) ([]store.Object, error) {
	rows, err := q.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (o store.Object, err error) {
		err = row.Scan(&o.Kind, &o.Name, &o.Definition, &o.State)
		return o, err
	})
}
