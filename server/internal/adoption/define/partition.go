package define

import (
	"fmt"
	"slices"
	"strings"
)

// partitions lists the partitions of the source; nil: it is not partitioned.
func (s *Source) partitions() []string {
	if s.Kind != "p" {
		return nil
	}
	names := make([]string, len(s.Partitions))
	for i, p := range s.Partitions {
		names[i] = p.Quoted()
	}
	return names
}

// stepPartition adds the triggers that a partition lacks. A partition that was attached or created
// after the others, perhaps under the name of one that was dropped, has its rows read too.
func (a *Adoption) stepPartition(p Partition, sql []string, r Rights) Step {
	s := a.stepTriggers(p.Quoted(), r)
	s.SQL = as(a.Source.Owner, r, sql...)
	if !slices.Contains(a.done, stepBackfill) || len(sql) == 0 {
		return s
	}
	s.Again = slices.Contains(a.done, s.Name)
	s.Does += "; this partition is new, and its rows are read too"
	s.SQL = append(s.SQL, a.readAgain(r, fmt.Sprintf(", partitions = array_append(array_remove(partitions, %[1]s), %[1]s)", literal(p.Quoted())))...)
	return s
}

// attach adds triggers to partitions that lack them, with the rights of the table's owner, and
// returns which these are. Triggers that the owner has disabled stay so. It waits a moment for the lock of each. If partitions are gone, it has
// nodes look again at every row that has an error.
func (a *Adoption) attach() Function {
	const partition = "PARTITION"
	var names, add []string
	for _, t := range statementTriggers {
		names = append(names, literal(a.name(t.what)))
		var others []string
		for _, o := range statementTriggers {
			if o != t {
				others = append(others, a.name(o.what))
			}
		}
		var run []string
		for _, sql := range a.triggers(partition, others...) {
			run = append(run, fmt.Sprintf("execute replace(%s, '%s', found::text);", literals(strings.ReplaceAll(sql, "\n", " ")), partition))
		}
		add = append(add, fmt.Sprintf("if not exists (select from pg_trigger g where g.tgrelid = found and g.tgname = %s) then\n        %s\n      end if;",
			literal(a.name(t.what)), strings.Join(run, "\n        ")))
	}
	return a.function("attach", "gone boolean", "boolean", "setof recoup.attached_partition", " set lock_timeout = '100ms'", fmt.Sprintf(`declare
  found regclass;
  filled boolean;
begin
  if $1 then
    insert into recoup.adopted_change (adoption_id) values (%[1]d);
  end if;
  for found in select t.relid from pg_partition_tree(%[2]s) t where t.level > 0 and (select count(*) from pg_trigger g
      where g.tgrelid = t.relid and g.tgname in (%[3]s)) < %[4]d
      order by t.level, t.relid::oid loop
    begin
      %[5]s
      select coalesce(sum(pg_relation_size(p.relid)), 0) > 0 into filled from pg_partition_tree(found) p where p.isleaf;
      return next row(found::text, filled, null::text);
    exception when others then
      return next row(found::text, false, left(sqlerrm, 300));
    end;
  end loop;
end `, a.ID, fmt.Sprintf("(select y.typrelid from pg_type y where y.oid = pg_typeof(recoup.%s()))", a.name("row_type")), strings.Join(names, ", "), len(names), strings.Join(add, "\n      ")))
}
