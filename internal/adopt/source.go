package adopt

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"recoup"
)

const (
	// maxPairs is how many columns are put into an object at once: functions have at most
	// a hundred arguments.
	maxPairs = 32

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
			pairs[i] = literal(name) + ", s." + quote(name)
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
	if a.Rules.AtEnd != recoup.SourceMove {
		return "null::jsonb"
	}
	var ours []string
	if a.mirrors() {
		ours = append(ours, a.Mapping.Disposition, a.Mapping.ArchivedAt)
	}
	if len(a.Source.Key) == 0 {
		ours = append(ours, KeyColumn)
	}
	text := "to_jsonb(s)"
	for _, name := range ours {
		text += " - " + literal(name)
	}
	return "(" + text + ")"
}

// remove deletes rows by their keys, one by one: one that a constraint or a trigger of
// the owner keeps does not keep the others. It waits for nobody. Rows that are no failures,
// by the condition that says which are, are left alone.
func (a *Adoption) remove() Function {
	var same []string
	for i, part := range a.keyParts("recoup_remove.k") {
		same = append(same, a.keyColumns()[i]+" = "+part)
	}
	where := strings.Join(same, " and ")
	if a.Conditions.Governed != "" {
		where += " and (" + a.Conditions.Governed + ") is true"
	}
	size := "0"
	if a.Rules.AtEnd == recoup.SourceMove {
		size = "octet_length(" + a.whole() + "::text)"
	}
	settings := " set lock_timeout = '100ms' set plan_cache_mode = force_generic_plan" + a.stableText()
	return a.function("remove", "keys text[]", "text[]", "setof recoup.removed_row", settings, fmt.Sprintf(`<<recoup_remove>>
declare
  k text;
  size bigint;
  gone recoup.source_row;
  kept recoup.source_row;
  state text;
  rule text;
begin
  set constraints all immediate;
  foreach k in array $1 loop
    kept.key := k;
    begin
      select %[1]s into size from %[2]s s where %[3]s for update of s skip locked;
      if not found then
        continue;
      elsif size > %[4]d then
        return next row(kept, 'it has ' || size || ' bytes, and %[4]d are kept');
        continue;
      end if;
      delete from %[2]s s where %[3]s returning %[5]s into gone;
      if found then
        return next row(gone, null::text);
      else
        return next row(kept, 'a trigger of its owner keeps it');
      end if;
    exception when lock_not_available or deadlock_detected then
      null;
    when others then
      get stacked diagnostics state = returned_sqlstate, rule = constraint_name;
      return next row(kept, coalesce('the constraint ' || nullif(rule, '') || ' keeps it', 'the database refuses it (' || state || ')'));
    end;
  end loop;
end `, size, a.Source.Quoted(), where, maxMoved, a.values(a.whole())))
}

// stepAgree makes the functions anew that follow the policy, where it lists other columns
// or another end than those the adoption was agreed on.
func (a *Adoption) stepAgree(r Rights) Step {
	read := a.read()
	read.Text = strings.Replace(read.Text, "create function", "create or replace function", 1)
	made := []string{read.Text, "drop function if exists recoup." + a.name("remove") + "(text[])"}
	if a.Rules.Removes() {
		made = append(made, a.define(a.remove())...)
	}
	return Step{
		Name: stepAgree, Again: true, Does: "lets nodes read the columns that the policy lists now, and remove rows if it says so",
		SQL: append(a.asOwnerInSchema(r, made), a.agree(r)...),
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

// sameRules reports whether two rules are the same; the default may be said or not.
func sameRules(a, b recoup.SourceRules) bool {
	for _, r := range []*recoup.SourceRules{&a, &b} {
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
				"correct its source block and run recoup policy apply; the columns are " + p.columns(),
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
	case recoup.SourceMove:
		notef("Rows move with their errors into the archive, whole and encrypted. A release does not put them back.")
	case recoup.SourceDelete:
		notef("Rows are deleted when the archive has kept their errors for its retention.")
	}
	if rules.Removes() && len(p.Facts.Referrers) > 0 {
		notef("Foreign keys point to it (%s): a row that they hold is kept; what they cascade to is deleted with it.", strings.Join(p.Facts.Referrers, ", "))
	}
}
