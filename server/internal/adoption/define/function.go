package define

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// Function is a function that an adoption makes.
type Function struct {
	Name      string // with its schema
	Arguments string // types, as in DROP FUNCTION
	Text      string // CREATE FUNCTION
	Called    bool   // by nodes
}

// Functions are those of an adoption. They belong to the owner of the source.
func (a *Adoption) Functions() []Function {
	list := append(a.binding(), a.read(), a.scan(), a.last(), a.mirror(), a.onTruncate())
	list = append(list, a.noting()...)
	if a.Preset != nil {
		list = append(list, a.retry())
	}
	if a.Rules.Removes() {
		list = append(list, a.take(), a.remove())
	}
	if a.Source.Kind == "p" {
		list = append(list, a.attach())
	}
	if a.readsTimes() {
		list = append([]Function{a.time()}, list...)
	}
	return list
}

// function writes a function. Its parameters are $1, $2 …: any name could be that of a column.
func (a *Adoption) function(what, parameters, arguments, returns, settings, text string) Function {
	name := "recoup." + a.name(what)
	called := returns != "trigger"
	if called && what != timeFunction {
		text = guarded(a.Source.Quoted(), text)
	}
	return Function{
		Name: name, Arguments: arguments, Called: called,
		Text: fmt.Sprintf("create function %s(%s) returns %s language plpgsql\nsecurity definer set search_path = pg_catalog, pg_temp set jit = off%s as %s",
			name, parameters, returns, settings, body("\n#variable_conflict use_column\n"+text)),
	}
}

// timeFunction is the name of the function that reads times. It reads no table.
const timeFunction = "time"

// guarded adds a check to the beginning of a function. Functions look their table up by name. If the
// table is dropped or renamed, another role can create one of that name, whose triggers would
// run with the rights of the function's owner.
func guarded(table, text string) string {
	return strings.Replace(text, "begin\n", fmt.Sprintf(`begin
  if not exists (select from pg_class c where c.oid = to_regclass(%s) and pg_has_role(c.relowner, current_user, %s)) then
    raise undefined_table using message = 'the table is gone, or belongs to another role';
  end if;
`, literal(table), pgsession.Membership), 1)
}

// binding are the functions by which the others refuse a table that is not the source. They are made
// again where an older adoption lacks them.
func (a *Adoption) binding() []Function { return []Function{a.rowType(), a.sameType()} }

// rowType is a function that returns nothing, with the row type of the source. It is bound to the source
// by oid, and not by name.
func (a *Adoption) rowType() Function {
	name := "recoup." + a.name("row_type")
	return Function{Name: name, Text: fmt.Sprintf("create or replace function %s() returns %s language plpgsql stable\nset search_path = pg_catalog, pg_temp as %s",
		name, a.Source.Quoted(), body(fmt.Sprintf("\nbegin /* of adoption %d */\n  return null;\nend ", a.ID)))}
}

// sameType is a function that can be called with two values of the same type. It has no settings, so
// that the planner replaces it by its result.
func (a *Adoption) sameType() Function {
	name := "recoup." + a.name("same_type")
	return Function{Name: name, Arguments: "anyelement, anyelement", Text: fmt.Sprintf("create or replace function %s(anyelement, anyelement) returns boolean language sql immutable as %s",
		name, body(fmt.Sprintf(" select true /* of adoption %d */ ", a.ID)))}
}

// isSource is a condition of a row of the source. A statement that has it fails before any of it
// runs if its table is another one: then there is no function for its row type. The check at the beginning of a
// function cannot tell that, because its table can be exchanged between two statements, and while a statement waits for a lock.
// No cast applies to polymorphic arguments. A row is written with a star because the table can have a column of its alias.
func (a *Adoption) isSource(row string) string {
	return fmt.Sprintf("recoup.%s(%s.*, recoup.%s())", a.name("same_type"), row, a.name("row_type"))
}

// body quotes the body of a function with a tag that does not occur in it: names and values
// of other people are part of it.
func body(text string) string {
	tag := "$recoup$"
	for n := 1; strings.Contains(text, tag); n++ {
		tag = fmt.Sprintf("$recoup%d$", n)
	}
	return tag + text + tag
}

// row selects a source_row of the source, which is s.
func (a *Adoption) row() string {
	return fmt.Sprintf(`select %s
    from %s s`, a.values(a.columns()), a.Source.Quoted())
}

// values are those of a source_row of s.
func (a *Adoption) values(columns string) string {
	return fmt.Sprintf(`%[1]s, left(%[2]s, %[12]d), left(%[3]s, %[12]d),
      %[4]s,
      left(%[5]s, %[13]d), %[6]s,
      %[7]s, %[8]s, %[9]s, left(%[10]s, %[12]d), left(%[11]s, %[12]d), concat(s.tableoid, ' ', s.ctid, ' ', s.xmin), left(%[14]s, %[12]d)`,
		a.keyText(), a.entity("s"), a.code(), a.severity(), a.message(), a.createdAt(), a.governed(), columns, a.underway(), a.pipeline(), a.stage(), maxText, maxMessage+1, a.lastSeen())
}

// The most characters of what is read of a row. A message has one more if it was cut.
const (
	maxText    = 1000
	maxMessage = 16384
)

// read finds rows by their keys. Its plan does not depend on how many there are: it is
// always by the index.
func (a *Adoption) read() Function {
	return a.function("read", "keys text[]", "text[]", "setof recoup.source_row", " set plan_cache_mode = force_generic_plan"+a.stableText(), fmt.Sprintf(`begin
  return query %s
    where %s and %s;
end `, a.row(), a.isSource("s"), a.byKeys()))
}

// byKeys is the condition of rows whose keys are in $1.
func (a *Adoption) byKeys() string {
	if len(a.key()) == 1 {
		return a.keyColumns()[0] + " = any ($1::" + a.key()[0].Base + "[])"
	}
	return fmt.Sprintf("(%s) in (select %s from unnest($1) k)", strings.Join(a.keyColumns(), ", "), strings.Join(a.keyParts("k"), ", "))
}

// scan pages through the keys in their order. It reads nothing else: a row on which a
// condition fails is in nobody's way. Its plan knows where it begins and how many are asked
// for, or it would sort the table.
func (a *Adoption) scan() Function {
	columns := strings.Join(a.keyColumns(), ", ")
	return a.function("scan", `"after" text, until text, most int`, "text, text, int", "setof text", " set plan_cache_mode = force_custom_plan"+a.stableText(), fmt.Sprintf(`begin
  return query select %[1]s from %[2]s s
    where %[7]s and %[3]s is not null and ($1 is null or (%[4]s) > (%[5]s)) and (%[4]s) <= (%[6]s)
    order by %[4]s limit $3;
end `, a.keyText(), a.Source.Quoted(), a.keyColumns()[0], columns, strings.Join(a.keyParts("$1"), ", "), strings.Join(a.keyParts("$2"), ", "), a.isSource("s")))
}

// last finds the last key: once there are triggers, the backfill has to go no further.
func (a *Adoption) last() Function {
	columns := a.keyColumns()
	return a.function("last", "", "", "text", a.stableText(), fmt.Sprintf(`begin
  return (select %s from %s s
    where %s and %s is not null
    order by %s desc limit 1);
end `, a.keyText(), a.Source.Quoted(), a.isSource("s"), columns[0], strings.Join(columns, " desc, ")))
}

// mirror writes what became of errors into their rows, and returns the keys that
// are done with: told, told before, or gone. Rows that others hold are left for later.
func (a *Adoption) mirror() Function {
	const parameters, arguments = "keys text[], dispositions text[], archived timestamptz[]", "text[], text[], timestamptz[]"
	settings := " set plan_cache_mode = force_generic_plan" + a.stableText()
	if !a.mirrors() {
		return a.function("mirror", parameters, arguments, "text[]", settings, "begin\n  return $1;\nend ")
	}
	var parts, same []string
	for i, part := range a.keyParts("w.key") {
		name := fmt.Sprintf("k%d", i+1)
		parts = append(parts, part+" as "+name)
		same = append(same, a.keyColumns()[i]+" = w."+name)
	}
	disposition, archived := quote(a.Mapping.Disposition), quote(a.Mapping.ArchivedAt)
	return a.function("mirror", parameters, arguments, "text[]", settings, fmt.Sprintf(`declare
  done text[];
begin
  with want as (
    select w.key, w.disposition, w.archived, %[1]s from unnest($1, $2, $3) w (key, disposition, archived)
  ), held as (
    select w.* from want w join %[2]s s on %[3]s
    where %[6]s and (s.%[4]s, s.%[5]s) is distinct from (w.disposition, w.archived)
    for no key update of s skip locked
  ), told as (
    update %[2]s s set %[4]s = w.disposition, %[5]s = w.archived from held w where %[6]s and %[3]s returning w.key
  )
  select array_agg(w.key) into done from want w
    where exists (select from told where told.key = w.key)
      or not exists (select from %[2]s s where %[6]s and %[3]s and (s.%[4]s, s.%[5]s) is distinct from (w.disposition, w.archived));
  return coalesce(done, '{}');
end `, strings.Join(parts, ", "), a.Source.Quoted(), strings.Join(same, " and "), disposition, archived, a.isSource("s")))
}

// time reads a time from text; what is none is null.
func (a *Adoption) time() Function {
	f := a.function(timeFunction, "t text", "text", "timestamptz", " set timezone = "+literal(a.zone())+" set datestyle = 'ISO, YMD'", `declare
  at timestamptz;
begin
  at := $1::timestamptz;
  return case when isfinite(at) then at end;
exception when data_exception then
  return null;
end `)
	f.Called = false
	return f
}
