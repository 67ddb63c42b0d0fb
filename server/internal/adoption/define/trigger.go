package define

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// changeKeys is how many keys a change has at most.
const changeKeys = 1000

// seen is the view of the columns that triggers use. Its name is in the message when the
// database refuses to drop such a column or to change its type.
const seen = "recoup_release_first"

// bound is the view that says which table was adopted. It belongs to the owner of the schema recoup:
// see recoup.bind_adoption.
const bound = "source"

// noting are the functions of triggers that read rows, and the one that finds renamed columns.
func (a *Adoption) noting() []Function {
	return []Function{a.names(), a.onInsert(), a.onUpdate(), a.onDelete(), a.onReplicated()}
}

// view creates the view of the columns that triggers use. A view depends on exactly these
// columns: the database refuses to drop or retype them, and leaves all others alone. A view
// keeps its own column names when those of the table are changed.
func (a *Adoption) view() string {
	return fmt.Sprintf("create view recoup.%s as\n  select %s\n    from %s s", a.name(seen), columnsOf("s", a.usedByTriggers()), a.Source.Quoted())
}

// columnsOf lists columns of a row.
func columnsOf(row string, names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = row + "." + quote(name)
	}
	return strings.Join(list, ", ")
}

// names returns the columns of the view as they are called in the table now, as a list for
// SELECT; null: none was renamed. It is declared immutable so that the planner replaces it by
// its result. That is safe in a query that reads a transition table: renaming a column
// invalidates such plans. The names come from the system caches and not from a snapshot, which
// may be older than the table.
func (a *Adoption) names() Function {
	name := "recoup." + a.name("names")
	return Function{
		Name: name, Text: fmt.Sprintf(`create function %s() returns text language sql immutable
set search_path = pg_catalog, pg_temp set standard_conforming_strings = on as %s`, name, body(fmt.Sprintf(`
  select case when bool_or(n.now <> n.name) then string_agg(format('%%I as %%I', n.now, n.name), ', ') end
    from (select v.attname::text as name, (pg_identify_object_as_address('pg_class'::regclass, c.found[2]::oid, c.found[3]::int)).object_names[3] as now
      from pg_rewrite r
      cross join lateral regexp_matches(r.ev_action::text, ':resno (\d+) :resname (?:\\.|[^\s\\])+ ' || ':ressortgroupref \d+ :resorigtbl (\d+) :resorigcol (\d+)', 'g') c (found)
      join pg_attribute v on v.attrelid = r.ev_class and v.attnum = c.found[1]::int
      where r.ev_class = 'recoup.%s'::regclass) n
`, a.name(seen)))),
	}
}

// usedByTriggers are the columns of the view, in the order of the source. The key that a
// source gets is not among its columns yet.
func (a *Adoption) usedByTriggers() (names []string) {
	m := a.Mapping
	uses := slices.Clone(a.Conditions.Columns)
	for _, name := range []string{m.Entity, m.Code, m.Message, m.Severity, m.CreatedAt, m.LastSeen} {
		if c, ok := a.mapped(name); ok {
			uses = append(uses, c.Name)
		}
	}
	for _, c := range a.key() {
		names = append(names, c.Name)
	}
	for _, c := range a.Source.Columns {
		if slices.Contains(uses, c.Name) && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// note writes changes down, a thousand keys to a row. Rows have a key (k) and perhaps an
// entity (e), whose hash is written down. Most statements are small: those that are not
// are found out by the one row too many, and are written in parts. After a column was renamed
// the statement is made anew with the current names.
func (a *Adoption) note(rows string, entities bool, tables ...string) string {
	into := a.intoChange(entities)
	parts := fmt.Sprintf("%s from (select r.*, (row_number() over () - 1) / %d as part from (%s) r where r.k is not null) r group by r.part", into, changeKeys, rows)
	renamed := make([]string, len(tables))
	for i, table := range tables {
		renamed[i] = table + " as (select ' || names || ' from " + table + ")"
	}
	return fmt.Sprintf(`declare
  names text;
begin
  %[9]s
  %[1]s
      from (select * from (%[2]s) r where r.k is not null and recoup.%[3]s() is null limit %[4]d + 1) r having count(*) between 1 and %[4]d;
  if not found then
    select recoup.%[3]s() into names from %[5]s limit 1;
    if names is null then
      %[6]s;
    else
      execute 'with %[7]s ' || %[8]s;
    end if;
  end if;
  return null;
end `, into, rows, a.name("names"), changeKeys, tables[0], parts, strings.Join(renamed, ", "), literals(parts), a.leaveForeignTypes(tables[0]))
}

// leaveForeignTypes ends a trigger function whose table belongs to another role now and has columns of types that are not
// PostgreSQL's own. Casts of these types can run code of that role, also where a statement is planned and none of it is
// executed. The source can have been given to that role, or a partition that was detached. Oids below 16384 are
// those of built-in types. A transaction with an older snapshot does not see whose the table is now: there the types must be
// those of the source, as statements find them, which do not look at a snapshot for that.
func (a *Adoption) leaveForeignTypes(table string) string {
	var names, differ []string
	for _, name := range a.usedByTriggers() {
		name = quote(name)
		names, differ = append(names, name), append(differ, fmt.Sprintf("pg_typeof(s.%[1]s) <> pg_typeof(d.%[1]s)", name))
	}
	return leaveForeign("exists (select from pg_attribute t where t.attrelid = tg_relid and t.attnum > 0 and not t.attisdropped and t.atttypid >= 16384)") + fmt.Sprintf(`
  if current_setting('transaction_isolation') <> 'read committed' then
    if exists (select from (select (null::recoup.%s).*) d, lateral (select %s from %s limit 1) s where %s) then
      return null;
    end if;
  end if;`, a.name(seen), strings.Join(names, ", "), table, strings.Join(differ, " or "))
}

// leaveForeign ends a trigger function whose table belongs to another role now, if a condition holds. What is asked of other
// tables than those of the function's owner is in a statement of its own, so that these do not pay for it.
func leaveForeign(condition string) string {
	return fmt.Sprintf(`if (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = tg_relid) is distinct from current_user then
    if not exists (select from pg_class c where c.oid = tg_relid and pg_has_role(c.relowner, current_user, %s)) and %s then
      return null;
    end if;
  end if;`, pgsession.Membership, condition)
}

// intoChange is the beginning of a statement that writes changes down.
func (a *Adoption) intoChange(entities bool) string {
	hashes := "null::bigint[]"
	if entities {
		hashes = "array_agg(hashtextextended(r.e, 0)) filter (where r.e is not null)"
	}
	return fmt.Sprintf("insert into recoup.adopted_change (adoption_id, %s, entities) select %d, array_agg(r.k), %s", a.keyNoted(), a.ID, hashes)
}

// literals writes a long string in SQL in pieces, so that its lines can be folded.
func literals(text string) string {
	const size = 60
	var pieces []string
	for len(text) > size {
		at := strings.LastIndexByte(text[:size], ' ') + 1
		if at == 0 {
			break
		}
		pieces, text = append(pieces, literal(text[:at])), text[at:]
	}
	return strings.Join(append(pieces, literal(text)), " || ")
}

// rows are expressions over the rows of a transition table (s). The names of its columns are
// resolved in the table first. A name that it does not have any more resolves to a null of the
// view's row type, so that the statement of a writer never fails: see note.
func (a *Adoption) rows(columns, table string) string {
	where := ""
	if a.Conditions.Safe {
		where = " where (" + a.Preset.Noted() + ") is true"
	}
	var names []string
	for _, name := range a.usedByTriggers() {
		names = append(names, quote(name))
	}
	return fmt.Sprintf("select %s from (select s.* from (select (null::recoup.%s).*) d, lateral (select %s from %s) s) s%s",
		columns, a.name(seen), strings.Join(names, ", "), table, where)
}

// The names of transition tables.
const (
	newRows = "recoup_new"
	oldRows = "recoup_old"
)

// keyAndEntity are those of a row, collated as the gate does it.
func (a *Adoption) keyAndEntity() string {
	return a.noted() + " as k, " + a.named("s") + ` collate "C" as e`
}

func (a *Adoption) onInsert() Function {
	return a.function("insert", "", "", "trigger", a.stableText(), a.note(a.rows(a.keyAndEntity(), newRows), a.namesEntities(), newRows))
}

func (a *Adoption) onUpdate() Function {
	return a.function("update", "", "", "trigger", a.stableText(), a.note(a.changed(), a.namesEntities(), newRows, oldRows))
}

// changed are the rows whose key, entity or watched columns have changed, and keys that are gone.
func (a *Adoption) changed() string {
	columns, key := a.keyAndEntity(), a.noted()+" as k, null"
	for i, w := range a.watched("s") {
		columns += fmt.Sprintf(", %s%s as w%d", w.expression, w.collation, i+1)
	}
	return fmt.Sprintf("select c.k, c.e from (%s except %s) c union all (%s except %s)", a.rows(columns, newRows), a.rows(columns, oldRows), a.rows(key, oldRows), a.rows(key, newRows))
}

func (a *Adoption) onDelete() Function {
	return a.function("delete", "", "", "trigger", a.stableText(), a.note(a.rows(a.noted()+" as k", oldRows), false, oldRows))
}

func (a *Adoption) onTruncate() Function {
	return a.function("truncate", "", "", "trigger", "", fmt.Sprintf(`begin
  insert into recoup.adopted_change (adoption_id) values (%d);
  return null;
end `, a.ID))
}

// statementTriggers are what the statement triggers of a table fire after, and their transition tables.
var statementTriggers = []struct{ what, tables string }{
	{"insert", " referencing new table as " + newRows},
	{"update", " referencing old table as " + oldRows + " new table as " + newRows},
	{"delete", " referencing old table as " + oldRows},
	{"truncate", ""},
}

// triggers returns the statements that put the triggers on a table: the source, or one
// of its partitions. Those that it has already are left out. They depend on the view: DROP COLUMN
// with CASCADE drops them too, and writers go on.
func (a *Adoption) triggers(table string, has ...string) []string {
	var list []string
	for _, t := range statementTriggers {
		name := a.name(t.what)
		if slices.Contains(has, name) {
			continue
		}
		list = append(list,
			fmt.Sprintf("create trigger %[1]s after %[2]s on %[3]s%[4]s for each statement\nwhen ('recoup.%[5]s'::regclass is not null) execute function recoup.%[1]s()",
				name, t.what, table, t.tables, a.name(seen)),
			fmt.Sprintf("alter table only %s enable always trigger %s", table, name))
	}
	return list
}
