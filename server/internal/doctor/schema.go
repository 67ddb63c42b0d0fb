package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// drift is how the objects of a kind differ from what the migrations make.
type drift struct {
	missing  []store.Object
	changed  []store.Object // as they should be
	disabled []store.Object // or invalid
	foreign  []store.Object
}

// compare finds the drift of a kind. What is of a table that is missing as a whole goes
// with it. A schema that could not be read, in part or as a whole, has none.
func compare(f *store.Facts, kind string) (d drift) {
	if !f.Seen(store.FactSchema) || kind == store.ObjectGrant && !f.Seen(store.FactGrants) {
		return d
	}
	gone := goneTables(f)
	present := map[string]store.Object{}
	for _, o := range f.Present {
		if o.Kind == kind {
			present[o.Name] = o
		}
	}
	for _, want := range f.Expected {
		if want.Kind != kind {
			continue
		}
		got, there := present[want.Name]
		delete(present, want.Name)
		switch {
		case !there && !slices.ContainsFunc(gone, func(table string) bool { return mentions(want, table) }):
			d.missing = append(d.missing, want)
		case there && got.Definition != want.Definition:
			d.changed = append(d.changed, want)
		case there && got.State != "":
			d.disabled = append(d.disabled, want)
		}
	}
	for _, o := range f.Present {
		if _, left := present[o.Name]; left && o.Kind == kind {
			d.foreign = append(d.foreign, o)
		}
	}
	return d
}

// goneTables are the tables that are missing.
func goneTables(f *store.Facts) (names []string) {
	for _, o := range f.Expected {
		if o.Kind == store.ObjectTable && !slices.ContainsFunc(f.Present, func(p store.Object) bool { return p.Kind == o.Kind && p.Name == o.Name }) {
			names = append(names, o.Name)
		}
	}
	return names
}

// mentions reports whether an object is of a table.
func mentions(o store.Object, table string) bool {
	if o.Kind == store.ObjectTable {
		return false
	}
	for word := range strings.FieldsFuncSeq(o.Name+" "+o.Definition, func(r rune) bool { return strings.ContainsRune(" (),", r) }) {
		if word == table || strings.HasPrefix(word, table+".") {
			return true
		}
	}
	return false
}

// object names an object for people.
func object(o store.Object) string { return o.Kind + " " + o.Name }

// relation is the table of a trigger or a constraint, whose name says on what it is, and
// its own name.
func relation(o store.Object) (own, table string) {
	own, table, _ = strings.Cut(o.Name, " on ")
	return own, table
}

// replace are the statements that make an object anew.
func replace(f *store.Facts, o store.Object) []string {
	make := o.Statement()
	if o.Kind == store.ObjectFunction {
		return []string{make}
	}
	name := o.Name
	if own, table := relation(o); table != "" {
		name = own + " on " + table
	}
	concurrently := ""
	if o.Kind == store.ObjectIndex && f.Server != nil {
		concurrently = "concurrently "
		make = strings.Replace(make, " INDEX ", " INDEX CONCURRENTLY ", 1)
	}
	return []string{fmt.Sprintf("drop %s %sif exists %s", o.Kind, concurrently, name), make}
}

// TriggerCheck is the name of the check of triggers.
const TriggerCheck = "triggers"

func judgeTriggers(in *Input) (found []FixableFinding) {
	f, d := &in.Facts, compare(&in.Facts, store.ObjectTrigger)
	for _, o := range d.missing {
		found = append(found, NewFinding(wire.FindingCritical, object(o), "This guard is missing: the database no longer refuses what it is there to refuse.",
			SQLCommand(f, o.Statement())).With(Fix{Statements: []string{o.Statement()}}))
	}
	for _, o := range d.disabled {
		own, table := relation(o)
		enable := fmt.Sprintf("alter table %s enable trigger %s", table, own)
		found = append(found, NewFinding(wire.FindingCritical, object(o), "This guard is disabled: the database no longer refuses what it is there to refuse.",
			SQLCommand(f, enable)).With(Fix{Statements: []string{enable}}))
	}
	for _, o := range d.changed {
		found = append(found, NewFinding(wire.FindingCritical, object(o), "This guard was replaced: it is not the one that the migrations made.",
			SQLCommand(f, replace(f, o)...)).With(Fix{Statements: replace(f, o)}))
	}
	for _, o := range d.foreign {
		if strings.HasSuffix(o.Definition, "recoup.adopted_moved()") {
			continue // while something is adopted
		}
		found = append(found, foreignTrigger(f, o))
	}
	return found
}

// foreignTrigger is the finding for a trigger that no migration creates. On a table that is not
// Recoup's it is a note.
func foreignTrigger(f *store.Facts, o store.Object) FixableFinding {
	_, table := relation(o)
	drop := "drop trigger " + o.Name
	if f.File != nil {
		table, drop = o.Table, `drop trigger "`+strings.ReplaceAll(o.Name, `"`, `""`)+`"`
	}
	if slices.ContainsFunc(compare(f, store.ObjectTable).foreign, func(t store.Object) bool { return strings.EqualFold(t.Name, table) }) {
		return NewFinding(wire.FindingNote, object(o), fmt.Sprintf("This trigger on %s is not part of Recoup, nor is its table.", table), "")
	}
	return NewFinding(wire.FindingWarning, object(o), fmt.Sprintf("This trigger on %s is not part of Recoup. It runs in every write to the table, and can change, discard or fail what is written. Drop it unless you know what it does.", table),
		SQLCommand(f, drop))
}

func judgeFunctions(in *Input) (found []FixableFinding) {
	f, d := &in.Facts, compare(&in.Facts, store.ObjectFunction)
	for _, o := range d.missing {
		found = append(found, remade(f, o, "It is missing: what calls it fails."))
	}
	for _, o := range d.changed {
		found = append(found, remade(f, o, "It was replaced: its body, its owner's rights or its settings are not those of the migrations."))
	}
	for _, o := range compare(f, store.ObjectView).missing {
		found = append(found, NewFinding(wire.FindingCritical, object(o), "It is missing: reads of history and of the gate fail.", ""))
	}
	return found
}

// remade is a function that the text of its migration makes anew.
func remade(f *store.Facts, o store.Object, evidence string) FixableFinding {
	if o.Statement() == o.Definition { // its text is not known
		return NewFinding(wire.FindingCritical, object(o), evidence, "")
	}
	return NewFinding(wire.FindingCritical, object(o), evidence, FixHere).With(Fix{Statements: replace(f, o)})
}

func judgeIndexes(in *Input) (found []FixableFinding) {
	f, d := &in.Facts, compare(&in.Facts, store.ObjectIndex)
	lost := map[string]bool{}
	for _, o := range compare(f, store.ObjectConstraint).missing { // whose indexes go with them
		own, table := relation(o)
		lost[table[:strings.LastIndex(table, ".")+1]+own] = true
	}
	for _, o := range d.missing {
		if lost[o.Name] {
			continue
		}
		remedy := replace(f, o)
		found = append(found, NewFinding(wire.FindingWarning, object(o), "It is missing: what needs it reads the whole table.", SQLCommand(f, remedy[1:]...)).With(Fix{Statements: remedy}))
	}
	for _, o := range d.disabled {
		rebuild := "reindex index concurrently " + o.Name
		found = append(found, NewFinding(wire.FindingWarning, object(o), "It is invalid: building it was cut off. It costs every write, and no query uses it.",
			SQLCommand(f, rebuild)).With(Fix{Statements: []string{rebuild}}))
	}
	for _, o := range d.changed {
		found = append(found, NewFinding(wire.FindingWarning, object(o), "It is another index than the one that the migrations made: "+o.Definition,
			SQLCommand(f, replace(f, o)...)).With(Fix{Statements: replace(f, o)}))
	}
	return found
}

func judgeConstraints(in *Input) (found []FixableFinding) {
	f, d := &in.Facts, compare(&in.Facts, store.ObjectConstraint)
	for _, o := range slices.Concat(d.missing, d.changed) {
		own, table := relation(o)
		add := fmt.Sprintf("alter table %s add constraint %s %s", table, own, o.Definition)
		found = append(found, NewFinding(wire.FindingWarning, object(o), "It is missing or changed: the database takes rows that break it. Rows that do have to be corrected first.",
			SQLCommand(f, fmt.Sprintf("alter table %s drop constraint if exists %s", table, own), add)))
	}
	for _, o := range d.disabled {
		own, table := relation(o)
		found = append(found, NewFinding(wire.FindingWarning, object(o), "It is not validated: rows that were there before may break it.",
			SQLCommand(f, fmt.Sprintf("alter table %s validate constraint %s", table, own))))
	}
	return found
}

func judgeColumns(in *Input) (found []FixableFinding) {
	f := &in.Facts
	tables, columns := compare(f, store.ObjectTable), compare(f, store.ObjectColumn)
	for _, o := range tables.missing {
		found = append(found, NewFinding(wire.FindingCritical, object(o), "It is missing: nodes cannot work without it. Restore it from a backup.", ""))
	}
	for _, o := range tables.changed {
		found = append(found, NewFinding(wire.FindingWarning, object(o), "It is not as the migrations made it.", ""))
	}
	for _, o := range columns.missing {
		found = append(found, NewFinding(wire.FindingCritical, object(o), "It is missing: nodes cannot work without it. It should be "+o.Definition+".", ""))
	}
	for _, o := range columns.changed {
		found = append(found, column(f, o))
	}
	return found
}

// column is one that was changed. A default that is the only difference is put back.
func column(f *store.Facts, want store.Object) FixableFinding {
	got := f.Present[slices.IndexFunc(f.Present, func(o store.Object) bool { return o.Kind == want.Kind && o.Name == want.Name })]
	found := NewFinding(wire.FindingWarning, object(want), fmt.Sprintf("It is %q, and the migrations made it %q.", got.Definition, want.Definition), "")
	wantType, wantDefault, has := strings.Cut(want.Definition, " default ")
	gotType, _, _ := strings.Cut(got.Definition, " default ")
	if wantType != gotType || strings.Contains(want.Definition, " generated") {
		return found
	}
	at := strings.LastIndex(want.Name, ".")
	set := fmt.Sprintf("alter table %s alter column %s drop default", want.Name[:at], want.Name[at+1:])
	if has {
		set = strings.TrimSuffix(set, "drop default") + "set default " + wantDefault
	}
	found.Fix = SQLCommand(f, set)
	return found.With(Fix{Statements: []string{set}})
}
