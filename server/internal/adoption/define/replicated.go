package define

import (
	"fmt"
	"strings"
)

// replicated is the name of the row trigger, and of its function.
const replicated = "replicated"

// onReplicated notes the one row of a row trigger. Logical replication fires row triggers only, and
// gives them no transition tables. The row takes their place in the same statements as those of
// statement triggers. They read the view of the source too: if another role owned the source, its policies would run
// with the rights of the function's owner. So nothing of such a table is noted.
func (a *Adoption) onReplicated() Function {
	gone := a.rows(a.noted()+" as k", oldRows)
	return a.function(replicated, "", "", "trigger", a.stableText(), fmt.Sprintf(`declare
  names text;
begin
  %s
  if tg_op = 'INSERT' then
    %s
  elsif tg_op = 'UPDATE' then
    %s
  else
    %s
  end if;
  return null;
end `, leaveForeign("true"), a.noteRow(a.rows(a.keyAndEntity(), newRows), a.namesEntities(), newRows), a.noteRow(a.changed(), a.namesEntities(), newRows, oldRows), a.noteRow(gone, false, oldRows)))
}

// noteRow writes the change of one row down. After a column was renamed, a plan that was made before
// still finds it by its number. A plan that is made afterwards does not: then the statement is made
// anew with the current names. The view is in the query for names so that renaming a column
// invalidates its plan.
func (a *Adoption) noteRow(rows string, entities bool, tables ...string) string {
	into := fmt.Sprintf("%s from (select * from (%s) r where r.k is not null", a.intoChange(entities), rows)
	var given, named, using []string
	for i, table := range tables {
		row := strings.TrimPrefix(table, "recoup_")
		given = append(given, fmt.Sprintf("%s as not materialized (select %s.*)", table, row))
		named = append(named, fmt.Sprintf("%s as (select ' || names || ' from (select ($%d).*) r)", table, i+1))
		using = append(using, row)
	}
	return fmt.Sprintf(`with %[1]s
    %[2]s and recoup.%[3]s() is null) r having count(*) > 0;
    if not found then
      select recoup.%[3]s() into names from (select) one left join recoup.%[4]s v on false limit 1;
      if names is not null then
        execute 'with %[5]s ' || %[6]s using %[7]s;
      end if;
    end if;`, strings.Join(given, ", "), into, a.name("names"), a.name(seen), strings.Join(named, ", "), literals(into+") r having count(*) > 0"), strings.Join(using, ", "))
}

// rowTrigger returns the statements that put the row trigger on the source. It fires in sessions of
// replication alone, so other writers do not pay for it. Partitions have it too, also those that
// are attached later.
func (a *Adoption) rowTrigger() []string {
	name := a.name(replicated)
	return []string{
		fmt.Sprintf("create trigger %[1]s after insert or update or delete on %[2]s for each row\nwhen ('recoup.%[3]s'::regclass is not null) execute function recoup.%[1]s()",
			name, a.Source.Quoted(), a.name(seen)),
		fmt.Sprintf("alter table %s enable replica trigger %s", a.Source.Quoted(), name),
	}
}
