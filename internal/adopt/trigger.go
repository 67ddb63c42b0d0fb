package adopt

import (
	"fmt"
	"slices"
	"strings"
)

// changeKeys is how many keys a change has at most.
const changeKeys = 1000

// seen is the function by which triggers look at a row. Its name is what the owner reads
// when the database refuses to drop a column that it uses, or to change its type.
const seen = "recoup_release_first"

// noting are the functions of triggers that look at rows, and the one by which they do.
func (a *Adoption) noting() []Function {
	return []Function{a.see(), a.onInsert(), a.onUpdate(), a.onDelete()}
}

// see takes of a row what triggers need: its key (k), its entity (e), and what is watched
// (w1, w2 …). Of a queue it takes that of jobs which have failed for good, as if there were
// no others: one that is done costs nothing.
//
// It is the one function that knows columns by their numbers, as views do, so that it
// follows when they are renamed, and the database refuses to take them from under it. Nothing
// of it is left when a trigger has been planned: it is a part of the query that asks it.
func (a *Adoption) see() Function {
	returns := []string{"k " + a.noteType(), "e text"}
	values := []string{a.noted("s"), a.named("s")}
	for i, w := range a.watched("s") {
		returns = append(returns, fmt.Sprintf("w%d %s", i+1, w.kind))
		values = append(values, w.expression)
	}
	var columns []string
	for _, name := range a.usedByTriggers() {
		columns = append(columns, fmt.Sprintf("($1).%[1]s as %[1]s", quote(name)))
	}
	where := ""
	if a.Conditions.Safe {
		where = "\n    where (" + a.Conditions.Governed + ") is true"
	}
	return Function{
		Name: "recoup." + a.name(seen), Arguments: a.Source.Quoted(),
		Text: fmt.Sprintf("create function recoup.%s(%s) returns table (%s)\nlanguage sql stable begin atomic\n  select %s\n    from (select %s) s%s;\nend",
			a.name(seen), a.Source.Quoted(), strings.Join(returns, ", "), strings.Join(values, ", "), strings.Join(columns, ", "), where),
	}
}

// usedByTriggers are the columns that see uses, in the order of the source. The key that a
// source gets is not among its columns yet.
func (a *Adoption) usedByTriggers() (names []string) {
	m := a.Mapping
	uses := slices.Clone(a.Conditions.Columns)
	for _, name := range []string{m.Entity, m.Code, m.Message, m.Severity, m.CreatedAt} {
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
// are found out by the one row too many, and do it again in parts.
func (a *Adoption) note(rows string, entities bool) string {
	hashes := "null::bigint[]"
	if entities {
		hashes = "array_agg(hashtextextended(r.e, 0)) filter (where r.e is not null)"
	}
	into := fmt.Sprintf("insert into recoup.adopted_change (adoption_id, %s, entities)\n      select %d, array_agg(r.k), %s", a.keyNoted(), a.ID, hashes)
	return fmt.Sprintf(`begin
  %[1]s
      from (select * from (%[2]s) r where r.k is not null limit %[3]d + 1) r having count(*) between 1 and %[3]d;
  if not found then
    %[1]s
      from (select r.*, (row_number() over () - 1) / %[3]d as part from (%[2]s) r where r.k is not null) r group by r.part;
  end if;
  return null;
end `, into, rows, changeKeys)
}

// rows are what triggers need of the rows of a transition table.
func (a *Adoption) rows(columns, table string) string {
	return fmt.Sprintf("select %s from %s t, recoup.%s(t) r", columns, table, a.name(seen))
}

// The names of transition tables.
const (
	newRows = "recoup_new"
	oldRows = "recoup_old"
)

// keyAndEntity is collated as the gate does it.
const keyAndEntity = `r.k, r.e collate "C" as e`

func (a *Adoption) onInsert() Function {
	return a.function("insert", "", "", "trigger", a.stableText(), a.note(a.rows(keyAndEntity, newRows), a.namesEntities()))
}

// onUpdate notes the rows whose key, entity or watched columns have changed, and keys
// that are gone.
func (a *Adoption) onUpdate() Function {
	columns := keyAndEntity
	for i, w := range a.watched("s") {
		columns += fmt.Sprintf(", r.w%d%s", i+1, w.collation)
	}
	rows := fmt.Sprintf(`
      select c.k, c.e from (%s except %s) c
      union all
      (%s except %s)`, a.rows(columns, newRows), a.rows(columns, oldRows), a.rows("r.k, null", oldRows), a.rows("r.k, null", newRows))
	return a.function("update", "", "", "trigger", a.stableText(), a.note(rows, a.namesEntities()))
}

func (a *Adoption) onDelete() Function {
	return a.function("delete", "", "", "trigger", a.stableText(), a.note(a.rows("r.k", oldRows), false))
}

func (a *Adoption) onTruncate() Function {
	return a.function("truncate", "", "", "trigger", "", fmt.Sprintf(`begin
  insert into recoup.adopted_change (adoption_id) values (%d);
  return null;
end `, a.ID))
}

// of is the adoption as the triggers of a partition see it. Where its columns are in another
// order than the source's, which is that of the function by which rows are looked at, its
// triggers have functions of their own.
func (a *Adoption) of(p Partition) *Adoption {
	if !p.Apart {
		return a
	}
	part, source := *a, *a.Source
	source.Schema, source.Name = p.Schema, p.Name
	part.Source, part.part = &source, fmt.Sprintf("_%d", p.OID)
	return &part
}

// triggers returns the statements that put the triggers on a table: the source, or one
// of its partitions. They depend on the function by which they look at rows: whoever drops
// a column with cascade drops them too, and goes on writing.
func (a *Adoption) triggers(table string) []string {
	var list []string
	whole := Adoption{ID: a.ID}
	for _, t := range []struct{ what, tables, does string }{
		{"insert", " referencing new table as " + newRows, a.name("insert")},
		{"update", " referencing old table as " + oldRows + " new table as " + newRows, a.name("update")},
		{"delete", " referencing old table as " + oldRows, a.name("delete")},
		{"truncate", "", whole.name("truncate")},
	} {
		name := whole.name(t.what)
		list = append(list,
			fmt.Sprintf("create trigger %s after %s on %s%s for each statement\nwhen (%s::regprocedure is not null) execute function recoup.%s()",
				name, t.what, table, t.tables, literal(fmt.Sprintf("recoup.%s(%s)", a.name(seen), a.Source.Quoted())), t.does),
			fmt.Sprintf("alter table only %s enable always trigger %s", table, name))
	}
	return list
}
