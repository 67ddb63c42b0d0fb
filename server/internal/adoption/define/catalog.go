package define

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

const findSource = `
select c.oid, n.nspname, c.relname, c.relkind::text, c.relpersistence::text, r.rolname, r.rolsuper, has_schema_privilege(r.oid, n.oid, 'usage'), pg_get_userbyid(n.nspowner),
  case when c.relkind = 'p' then coalesce(parts.rows, -1) else c.reltuples end::bigint, coalesce(parts.pages, pg_relation_size(c.oid)) / current_setting('block_size')::bigint,
  case when c.relispartition then (select i.inhparent::regclass::text from pg_inherits i where i.inhrelid = c.oid limit 1) else '' end,
  not c.relispartition and exists (select from pg_inherits i where i.inhrelid = c.oid)
    or c.relkind = 'r' and exists (select from pg_inherits i where i.inhparent = c.oid),
  c.reloftype <> 0, c.relrowsecurity, c.relforcerowsecurity and not r.rolsuper and not r.rolbypassrls,
  exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive and p.polcmd = '*' and (p.polroles = '{0}' or r.oid = any (p.polroles))
      and pg_get_expr(p.polqual, p.polrelid) = 'true' and (p.polwithcheck is null or pg_get_expr(p.polwithcheck, p.polrelid) = 'true'))
    and not exists (select from pg_policy p where p.polrelid = c.oid and not p.polpermissive),
  array(select w.rulename::text from pg_rewrite w where w.ev_class = c.oid and w.rulename <> '_RETURN' order by 1),
  array(select distinct f.conrelid::regclass::text from pg_constraint f where f.confrelid = c.oid and f.contype = 'f' and f.conparentid = 0 and f.conrelid <> c.oid order by 1),
  array(select t.tgname::text from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgenabled <> 'D' and t.tgtype & 16 <> 0
    and t.tgfoid not in (select p.oid from pg_proc p join pg_namespace m on m.oid = p.pronamespace where m.nspname = 'recoup') order by 1),
  array(select p.pubname::text from pg_publication_tables p where p.schemaname = n.nspname and p.tablename = c.relname order by 1),
  exists (select from pg_subscription_rel s where s.srrelid = c.oid or s.srrelid in (select relid from pg_partition_tree(c.oid))),
  array(select distinct case x.grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(x.grantee)) end
    from pg_class d, aclexplode(d.relacl) x where (d.oid = c.oid or d.oid in (select relid from pg_partition_tree(c.oid)))
      and x.privilege_type = 'TRIGGER' and not pg_has_role(x.grantee, c.relowner, ` + pgsession.Membership + `) order by 1)
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_roles r on r.oid = c.relowner
left join lateral (select sum(nullif(p.reltuples, -1)) as rows, sum(pg_relation_size(p.oid))::bigint as pages
  from pg_partition_tree(c.oid) t join pg_class p on p.oid = t.relid where t.isleaf and c.relkind = 'p') parts on true
where c.oid = $1::regclass`

// A key is the primary key, else the narrowest unique index over columns that are
// never null, compared as their types are by default. An index on one array is none: an array of
// such keys is an array of their elements. Neither is one whose operators functions do not find by name in pg_catalog:
// those of a type of an extension, and of a domain over an enum. A row with an empty part is null.
const findKey = `
select i.indexrelid::regclass::text, array(select a.attname::text from unnest(i.indkey) with ordinality k(n, at)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.n where k.at <= i.indnkeyatts order by k.at)
from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
where i.indrelid = $1 and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null and m.amname = 'btree'
  and not exists (select from unnest(i.indkey, i.indcollation, i.indclass) with ordinality k(n, coll, class, at)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.n join pg_opclass o on o.oid = k.class
    join pg_type t on t.oid = a.atttypid
    where k.at <= i.indnkeyatts and (not a.attnotnull or a.attcollation <> k.coll or not o.opcdefault or i.indnkeyatts = 1 and t.typcategory = 'A'
      or t.typcategory = 'C' or o.opcintype = 'anyenum'::regtype and t.typtype = 'd'
      or exists (select from pg_amop x join pg_operator p on p.oid = x.amopopr where x.amopfamily = o.opcfamily and x.amoplefttype = o.opcintype
        and x.amoprighttype = o.opcintype and p.oprnamespace <> 'pg_catalog'::regnamespace)))
order by i.indisprimary desc, i.indnkeyatts, x.relname limit 1`

const findColumns = `
select a.attname, format_type(a.atttypid, a.atttypmod), format_type(a.atttypid, -1), t.typtype::text, t.typcategory::text, a.attnotnull, a.attgenerated <> ''
from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`

const findPartitions = `
select c.oid, n.nspname, c.relname, c.relkind = 'f', case when pg_has_role(c.relowner, (select s.relowner from pg_class s where s.oid = $1), ` + pgsession.Membership + `) then '' else pg_get_userbyid(c.relowner) end, array(select g.tgname::text from pg_trigger g join pg_proc f on f.oid = g.tgfoid
    where g.tgrelid = c.oid and f.pronamespace = to_regnamespace('recoup') and f.proname = g.tgname order by 1)
from pg_partition_tree($1) t join pg_class c on c.oid = t.relid
join pg_namespace n on n.oid = c.relnamespace where t.level > 0 order by t.level, n.nspname, c.relname`

// ReadSource reads what the catalog says of a table, which is named as in SQL. A name without a
// schema is looked up in the schemas of path. A table that is not there is refused.
func ReadSource(ctx context.Context, tx pgx.Tx, path []string, name string) (*Source, error) {
	oid, err := find(ctx, tx, path, name)
	if err != nil {
		return nil, err
	}
	s := new(Source)
	err = tx.QueryRow(ctx, findSource, oid).Scan(&s.OID, &s.Schema, &s.Name, &s.Kind, &s.Persistence, &s.Owner, &s.OwnerSuper, &s.OwnerUses, &s.SchemaOwner, &s.Rows, &s.Pages,
		&s.PartitionOf, &s.Inherits, &s.OfType, &s.RowSecurity, &s.Forced, &s.OwnerSees, &s.Rules, &s.Referrers, &s.Triggers, &s.Published, &s.Subscribed, &s.Triggerers)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	rows, err := tx.Query(ctx, findColumns, oid)
	if err != nil {
		return nil, err
	}
	if s.Columns, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Column]); err != nil {
		return nil, err
	}
	if s.Kind == "p" {
		if rows, err = tx.Query(ctx, findPartitions, oid); err != nil {
			return nil, err
		}
		if s.Partitions, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Partition]); err != nil {
			return nil, err
		}
	}
	return s, s.readKey(ctx, tx)
}

// errNoTable is wrapped by errors about a table that does not exist.
var errNoTable = errors.New("write SCHEMA.TABLE")

// findTableNamed finds a table ($2) in the first of some schemas ($1) that has it.
const findTableNamed = `
select c.oid, pg_catalog.has_schema_privilege(n.oid, 'usage'), n.nspname
from pg_catalog.unnest($1::text[]) with ordinality as w (name, place) join pg_catalog.pg_namespace n on n.nspname = w.name
join pg_catalog.pg_class c on c.relnamespace = n.oid
where c.relname = $2 and c.relkind in ('r', 'p', 'v', 'm', 'f') order by w.place limit 1`

// find looks a name up as a person would write it: exactly first, then as SQL reads it. A name with
// quotation marks is SQL: another user can create a schema or a table with quotation marks in its
// name, so a name that is both is refused.
func find(ctx context.Context, tx pgx.Tx, path []string, name string) (oid uint32, err error) {
	var schema, table string
	err = tx.QueryRow(ctx, `select c.oid, n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname || '.' || c.relname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f') order by n.nspname limit 1`, name).Scan(&oid, &schema, &table)
	if errors.Is(err, pgx.ErrNoRows) {
		return findSQL(ctx, tx, path, name)
	}
	if err != nil || !strings.Contains(name, `"`) {
		return oid, err
	}
	other, err := findSQL(ctx, tx, path, name)
	if errors.Is(err, errNoTable) || err == nil && other == oid {
		return oid, nil
	}
	if err != nil {
		return 0, err
	}
	parts, _ := parseName(name)
	return 0, fmt.Errorf("%s names two tables: write %s or %s: %w", name, quote(parts...), quote(schema, table), ErrRefused)
}

// findSQL looks a name up as SQL reads it. A name without a schema is looked up in the schemas of
// path, which is a value: the search path of the transaction stays the fixed one.
func findSQL(ctx context.Context, tx pgx.Tx, path []string, name string) (oid uint32, err error) {
	parts, ok := parseName(name)
	if !ok {
		return 0, fmt.Errorf("%s is not the name of a table: %w", name, errNoTable)
	}
	if len(parts) == 2 {
		path = parts[:1]
	}
	if path == nil {
		path = []string{} // nil would be null
	}
	var usable bool
	var schema string
	err = tx.QueryRow(ctx, findTableNamed, path, parts[len(parts)-1]).Scan(&oid, &usable, &schema)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fmt.Errorf("there is no table %s in this database: %w", name, errNoTable)
	case err != nil:
		return 0, err
	case !usable:
		return 0, fmt.Errorf("%s: this user may not use the schema %s: run GRANT USAGE ON SCHEMA %s … as its owner, or connect as another user: %w", name, schema, quote(schema), ErrRefused)
	}
	return oid, nil
}

// readForeign reads which code of other roles would run with the rights of a table's owner when its rows are read and
// written, and perhaps deleted. A plan reads rows of the table, so this is read first.
func readForeign(ctx context.Context, tx pgx.Tx, oid uint32, deletes bool) ([]Refusal, error) {
	rows, err := tx.Query(ctx, pgsession.ForeignCode("$1::pg_catalog.oid", "(select c.relowner from pg_catalog.pg_class c where c.oid = $1)", strconv.FormatBool(deletes)), oid)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Refusal])
	if err != nil {
		return nil, fmt.Errorf("read the code of other roles: %w", err)
	}
	return list, nil
}

func (s *Source) readKey(ctx context.Context, tx pgx.Tx) error {
	var names []string
	err := tx.QueryRow(ctx, findKey, s.OID).Scan(&s.KeyIndex, &names)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the keys of %s: %w", s, err)
	}
	for _, name := range names {
		column, _ := s.Column(name)
		s.Key = append(s.Key, column)
	}
	return nil
}

// HasColumn reports whether the table of a request has a column of this name.
func HasColumn(ctx context.Context, conn *pgx.Conn, request Request, column string) (has bool, err error) {
	err = planned(ctx, conn, func(tx pgx.Tx) error {
		oid, err := find(ctx, tx, request.Path, request.Source)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select exists (select from pg_attribute where attrelid = $1 and attname = $2 and attnum > 0 and not attisdropped)", oid, column).Scan(&has)
	})
	return has, err
}
