package define

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// maxPairs is how many columns are put into an object at once: functions have at most
	// a hundred arguments.
	maxPairs = 32

	// maxColumn is how many bytes of JSON a column may have that is kept.
	maxColumn = 16 << 10

	// maxMoved is how many bytes of JSON a row may have that is moved.
	maxMoved = 1 << 20
)

// columns are those of a row that are kept with its error, as JSON. The others are never
// read.
func (a *Adoption) columns() string {
	var objects []string
	for names := range slices.Chunk(a.Rules.Columns(), maxPairs) {
		pairs := make([]string, len(names))
		for i, name := range names {
			value := "to_jsonb(s." + quote(name) + ")"
			pairs[i] = fmt.Sprintf("%[1]s, case when octet_length(%[2]s::text) > %[3]d then to_jsonb('[' || octet_length(%[2]s::text) || ' bytes: too large to be kept]') else %[2]s end", literal(name), value, maxColumn)
		}
		objects = append(objects, "jsonb_build_object("+strings.Join(pairs, ", ")+")")
	}
	if len(objects) == 0 {
		return "null::jsonb"
	}
	return strings.Join(objects, " || ")
}

// whole is a row as its owner has it, without what Recoup has added, if it is moved.
func (a *Adoption) whole() string {
	if a.Rules.AtEnd != wire.SourceMove {
		return "null::jsonb"
	}
	var ours []string
	if a.mirrors() {
		ours = append(ours, a.Mapping.Disposition, a.Mapping.ArchivedAt)
	}
	if len(a.Source.Key) == 0 {
		ours = append(ours, KeyColumn)
	}
	text := "to_jsonb(s.*)" // s alone would be a column of that name
	for _, name := range ours {
		text += " - " + literal(name)
	}
	return "(" + text + ")"
}

// take reads rows that are to be removed. Rows that are no failures, by the condition that
// says which are, are left out. If they are moved they have all of their columns; of a row
// that is too large the columns are its size.
func (a *Adoption) take() Function {
	where := a.isSource("s") + " and " + a.byKeys()
	if a.Conditions.Governed != "" {
		where += " and (" + a.Conditions.Governed + ") is true"
	}
	columns := a.whole()
	if a.Rules.AtEnd == wire.SourceMove {
		columns = fmt.Sprintf("case when octet_length(%[1]s::text) > %[2]d then to_jsonb(octet_length(%[1]s::text)) else %[1]s end", columns, maxMoved)
	}
	return a.function("take", "keys text[]", "text[]", "setof recoup.source_row", " set plan_cache_mode = force_generic_plan"+a.stableText(), fmt.Sprintf(`begin
  return query select %s
    from %s s
    where %s;
end `, a.values(columns), a.Source.Quoted(), where))
}

// remove deletes rows by their keys, one by one: one that a constraint or a trigger of
// the owner keeps does not keep the others. It waits for nobody. A row that has changed since
// it was read has another mark, and stays.
func (a *Adoption) remove() Function {
	var same []string
	for i, part := range a.keyParts("recoup_remove.k") {
		same = append(same, a.keyColumns()[i]+" = "+part)
	}
	settings := " set lock_timeout = '100ms' set plan_cache_mode = force_generic_plan" + a.stableText()
	return a.function("remove", "keys text[], marks text[]", "text[], text[]", "setof recoup.removed_row", settings, fmt.Sprintf(`<<recoup_remove>>
declare
  k text;
  mark text;
  state text;
  rule text;
begin
  set constraints all immediate;
  for k, mark in select * from unnest($1, $2) loop
    begin
      perform from %[1]s s where %[3]s and %[2]s and concat(s.tableoid, ' ', s.ctid, ' ', s.xmin) = recoup_remove.mark for update of s skip locked;
      if not found then
        continue;
      end if;
      delete from %[1]s s where %[3]s and %[2]s;
      if found then
        return next row(k, null::text);
      else
        return next row(k, 'a trigger of its owner keeps it');
      end if;
    exception when lock_not_available or deadlock_detected then
      null;
    when others then
      get stacked diagnostics state = returned_sqlstate, rule = constraint_name;
      return next row(k, coalesce('the constraint ' || nullif(rule, '') || ' keeps it', 'the database refuses it (' || state || ')'));
    end;
  end loop;
end `, a.Source.Quoted(), strings.Join(same, " and "), a.isSource("s")))
}

// stepAgree makes the functions anew that follow the policy, where it lists other columns
// or another end than those the adoption was agreed on.
func (a *Adoption) stepAgree(r Rights) Step {
	read := a.read()
	read.Text = strings.Replace(read.Text, "create function", "create or replace function", 1)
	made := a.defineAll(a.binding())
	made = append(made, read.Text, "drop function if exists recoup."+a.name("take")+"(text[])", "drop function if exists recoup."+a.name("remove")+"(text[], text[])")
	if a.Rules.Removes() {
		made = append(append(made, a.define(a.take())...), a.define(a.remove())...)
	}
	return Step{
		Name: stepAgree, Again: true, Does: "lets nodes read the columns that the policy lists now, and remove rows if it says so",
		SQL: slices.Concat(a.asOwnerInSchema(r, made), a.agree(r), a.describe(r)),
	}
}

// agree notes what the functions give and remove.
func (a *Adoption) agree(r Rights) []string {
	rules, err := json.Marshal(a.Rules)
	if err != nil {
		panic(err) // lists of names
	}
	return as(r.SchemaOwner, r, fmt.Sprintf("update recoup.adoption set agreed = %s where adoption_id = %d", literal(string(rules)), a.ID))
}

// describe notes how the functions were made, for 'recoup doctor'.
func (a *Adoption) describe(r Rights) []string {
	return as(r.SchemaOwner, r, fmt.Sprintf("update recoup.adoption set made = recoup.adopted_functions(%[1]d) where adoption_id = %[1]d", a.ID))
}

// sameRules reports whether two rules are the same; the default may be said or not.
func sameRules(a, b wire.SourceRules) bool {
	for _, r := range []*wire.SourceRules{&a, &b} {
		if !r.Removes() {
			r.AtEnd = ""
		}
		r.DeadLetters = false // of which the functions know nothing
		r.Details, r.Encrypted = slices.Concat(r.Details), slices.Concat(r.Encrypted)
	}
	return reflect.DeepEqual(a, b)
}

// refuseRules says which columns the policy lists that the source does not have.
func (p *Plan) refuseRules() {
	for _, name := range p.Table.Source.Columns() {
		if _, ok := p.Facts.Column(name); !ok {
			p.Refusals = append(p.Refusals, Refusal{
				fmt.Sprintf("the policy's table %s keeps the column %s of its source, and %s has no such column", p.Table.Name, name, p.Source),
				"correct its source block and run 'recoup policy apply FILE --reason TEXT'; the columns are " + p.columns(),
			})
		}
	}
}

// noteRules says what is kept of rows, and what becomes of them.
func (p *Plan) noteRules() {
	notef := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	rules := p.Table.Source
	if len(rules.Details) > 0 {
		notef("Kept with each error, redacted: %s.", strings.Join(rules.Details, ", "))
	}
	if len(rules.Encrypted) > 0 {
		notef("Kept with each error, encrypted with the payload key: %s.", strings.Join(rules.Encrypted, ", "))
	}
	if rules.DeadLetters && p.adoption.Preset != nil {
		notef("A job whose error the policy parks becomes a dead letter, and a replay of that sets the job off again.")
	}
	switch rules.AtEnd {
	case wire.SourceMove:
		notef("Rows move with their errors into the archive, whole and encrypted. A release does not put them back.")
	case wire.SourceDelete:
		notef("Rows are deleted when the archive has kept their errors for its retention.")
	}
	if rules.Removes() && len(p.Facts.Referrers) > 0 {
		notef("Foreign keys point to it (%s): a row that they hold is kept; what they cascade to is deleted with it.", strings.Join(p.Facts.Referrers, ", "))
	}
}
