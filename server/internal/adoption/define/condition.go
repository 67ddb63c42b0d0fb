package define

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// conditionColumn is that of a temporary copy of the source, for a condition.
const conditionColumn = "recoup_condition"

// notImmutable is what the database says of an expression that depends on more than its row.
const notImmutable = "42P17"

// readConditions checks the conditions of a mapping against the source.
func readConditions(ctx context.Context, conn *pgx.Conn, path []string, s *Source, m wire.Mapping, p *preset.Preset) (c Conditions, err error) {
	for _, part := range []struct {
		name, text string
		to         *string
	}{
		{"--governed-when", m.GovernedWhen, &c.Governed},
		{"--resolved-when", m.ResolvedWhen, &c.Resolved},
		{"underway when", m.UnderwayWhen, &c.Underway},
	} {
		if *part.to, err = c.read(ctx, conn, path, s, part.text); err != nil {
			return c, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	c.Safe = p != nil && m.GovernedWhen == p.Mapping.GovernedWhen && m.ResolvedWhen == ""
	return c, nil
}

// read has the database read a condition as that of a generated column, of which it
// asks what we do: one boolean expression over one row, without subqueries,
// aggregates, parameters or functions whose answer may change. What is kept is what the
// database understood, with every name in full, never the text that was given.
//
// Names in the text are looked up in the schemas of path, in which other roles may create functions and
// operators whose arguments fit better than those of pg_catalog. Theirs are refused unless the text names them
// with their schema. A view is made of the condition for that, because nothing of it runs then: the other statements
// evaluate immutable functions. A cursor is made of it next, because that refuses a second statement.
func (c *Conditions) read(ctx context.Context, conn *pgx.Conn, path []string, s *Source, text string) (expression string, err error) {
	if text == "" {
		return "", nil
	}
	var found struct {
		Expression string   `json:"expression"`
		Columns    int      `json:"columns"`
		Names      []string `json:"names"`
		Foreign    string   `json:"foreign"`
		Inexact    string   `json:"inexact"`
	}
	here := s.here(quote(s.Name))
	err = asOwner(ctx, conn, s, fmt.Sprintf(`declare
  c refcursor;
  foreign_code text;
  inexact_code text;
begin
  execute %[7]s;
  perform pg_catalog.set_config('search_path'::pg_catalog.text, %[1]s::pg_catalog.text, true);
  execute %[5]s;
  perform pg_catalog.set_config('search_path'::pg_catalog.text, 'pg_catalog, pg_temp'::pg_catalog.text, true);
  %[6]s
  %[8]s
  if foreign_code is not null or inexact_code is not null then
    return jsonb_build_object('foreign', foreign_code, 'inexact', inexact_code);
  end if;
  perform pg_catalog.set_config('search_path'::pg_catalog.text, %[1]s::pg_catalog.text, true);
  open c for execute %[2]s;
  close c;
  execute %[3]s;
  perform pg_catalog.set_config('search_path'::pg_catalog.text, 'pg_catalog, pg_temp'::pg_catalog.text, true);
  return (select jsonb_build_object('expression', pg_get_expr(d.adbin, d.adrelid), 'columns', (select count(*) from pg_attribute a where a.attrelid = d.adrelid and a.attnum > 0),
      'names', array(select distinct c.attname::text from pg_depend p join pg_attribute c on c.attrelid = p.refobjid and c.attnum = p.refobjsubid
        where p.refclassid = 'pg_class'::regclass and p.refobjid = d.adrelid and p.classid <> 'pg_constraint'::regclass and c.attnum > 0 and c.attname <> '%[4]s'))
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where d.adrelid = 'pg_temp.recoup_condition'::regclass and a.attname = '%[4]s');
end `, literal(searchPath(path)), literal(fmt.Sprintf("select (%s\n) from %s where false and %s", text, s.Quoted(), here)),
		literal(fmt.Sprintf("create temporary table recoup_condition (like pg_temp.recoup_columns, %s boolean generated always as (%s\n) stored)", conditionColumn, text)), conditionColumn,
		literal(fmt.Sprintf("create temporary view recoup_names as select (%s\n) as condition from %s where %s", text, s.Quoted(), here)), fmt.Sprintf(unnamed, literal(text), literal(s.Owner), s.OID), literal(fmt.Sprintf("create temporary view recoup_columns as select %s.* from %s where %s", quote(s.Name), s.Quoted(), here)), inexact), &found)
	if err != nil {
		return "", refuseCondition(s, text, err)
	}
	if found.Foreign != "" {
		return "", fmt.Errorf("%q uses %s, whose code would run with the rights of %s. It was found by the search path: write the names with their schemas, as in shop.over(status) or status OPERATOR(pg_catalog.=) 'done'::text: %w",
			text, found.Foreign, s.Owner, ErrRefused)
	}
	if found.Inexact != "" {
		return "", fmt.Errorf("%q uses %s, which has arguments of any type or with defaults: another role could create one in its schema that fits better. Write one with the exact types of its arguments: %w",
			text, found.Inexact, ErrRefused)
	}
	expression, columns, names := found.Expression, found.Columns, found.Names
	if columns != len(s.Columns)+1 {
		return "", fmt.Errorf("%q is more than one condition: %w", text, ErrRefused)
	}
	for _, name := range names {
		if !slices.Contains(c.Columns, name) {
			c.Columns = append(c.Columns, name)
		}
	}
	return expression, nil
}

// unnamed finds a function, an operator, or a type of a condition that no column of the table (3) has, which belongs to another role and whose schema and name the
// text (1) does not have. The owner of a schema counts too, who can drop a function in it and create another one. Functions of the
// table's owner (2), of superusers and of the user are not meant.
const unnamed = `select format('%%s of %%s', f.code, r.rolname) into foreign_code from (
      with used as (select d.refclassid as class, d.refobjid as id from pg_depend d join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        where r.ev_class = 'pg_temp.recoup_names'::regclass and d.refobjid >= 16384)
      select p.oid::regprocedure::text, x.owner, format('%%I.%%I', n.nspname, p.proname)
        from used u join pg_proc p on u.class = 'pg_proc'::regclass and p.oid = u.id join pg_namespace n on n.oid = p.pronamespace and n.oid <> pg_my_temp_schema()
        cross join lateral (values (p.proowner), (n.nspowner)) x (owner)
      union all
      select p.oid::regprocedure::text, x.owner, format('operator(%%I.%%s)', n.nspname, o.oprname)
        from used u join pg_operator o on u.class = 'pg_operator'::regclass and o.oid = u.id join pg_namespace n on n.oid = o.oprnamespace
        join pg_proc p on p.oid = o.oprcode cross join lateral (values (p.proowner), (o.oprowner), (n.nspowner)) x (owner)
      union all
      select 'the type ' || format_type(t.oid, null), t.typowner, format('%%I.%%I', n.nspname, t.typname)
        from used u join pg_type y on u.class = 'pg_type'::regclass and y.oid = u.id
        join pg_type t on t.oid = case when y.typcategory = 'A' and y.typelem <> 0 then y.typelem else y.oid end join pg_namespace n on n.oid = t.typnamespace
        where t.oid >= 16384 and not exists (select from pg_attribute a where a.attrelid = %[3]d and a.attnum > 0 and a.atttypid in (t.oid, t.typarray))) f (code, owner, name)
    join pg_roles o on o.oid = f.owner join pg_database d on d.datname = current_database()
    join pg_roles r on r.oid = case o.rolname when 'pg_database_owner' then d.datdba else o.oid end
    where not r.rolsuper and r.rolname <> session_user and not pg_has_role(r.oid, %[2]s::name, ` + pgsession.Membership + `) and strpos(lower(%[1]s collate "C"), lower(f.name collate "C")) = 0
    order by 1 limit 1;`

// inexact finds a function or an operator of a condition that can be called with arguments of several types, or without some
// of its arguments. What is kept of a condition has names and not oids. If another role creates a function of that
// name for exactly these types in the same schema, later sessions call that one.
const inexact = `with used as (select d.refclassid as class, d.refobjid as id from pg_depend d join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        where r.ev_class = 'pg_temp.recoup_names'::regclass and d.refobjid >= 16384)
    select min(f.code) into inexact_code from (
      select 'the function ' || p.oid::regprocedure::text
        from used u join pg_proc p on u.class = 'pg_proc'::regclass and p.oid = u.id
        where p.pronamespace not in ('pg_catalog'::regnamespace, pg_my_temp_schema())
          and (p.pronargdefaults > 0 or exists (select from unnest(p.proargtypes) a (id) join pg_type t on t.oid = a.id where t.typtype = 'p'))
      union all
      select 'the operator ' || o.oid::regoperator::text
        from used u join pg_operator o on u.class = 'pg_operator'::regclass and o.oid = u.id join pg_type t on t.oid in (o.oprleft, o.oprright)
        where o.oprnamespace <> 'pg_catalog'::regnamespace and t.typtype = 'p') f (code);`

// searchPath writes schemas as a search path. Without any it is the fixed one.
func searchPath(schemas []string) string {
	if len(schemas) == 0 {
		return pgsession.Path
	}
	quoted := make([]string, len(schemas))
	for i, name := range schemas {
		quoted[i] = pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}

func refuseCondition(s *Source, text string, err error) error {
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	way := fmt.Sprintf("expected one SQL condition over the columns of %s, such as \"status = 'done'\"", s)
	if said.Code == notImmutable {
		way = "it depends on more than the row (now(), random(), a setting): nothing would tell Recoup that it has become true"
	}
	return fmt.Errorf("%q: %s: %s: %w", text, said.Message, way, ErrRefused)
}
