package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// judgeNames holds the names of the policy to what has them.
func judgeNames(in *Input) (found []FixableFinding) {
	for _, n := range in.Facts.Names {
		switch {
		case n.Is == store.NameOurs:
		case !n.Known:
			found = append(found, NewFinding(wire.FindingWarning, n.Name, "The policy has it, and the database does not know it yet: no node has put this policy in force here.",
				FixHere).With(Fix{Views: true}))
		case n.Is == "" && n.Barred != "":
			found = append(found, barred(in, n))
		case n.Is == "":
			found = append(found, NewFinding(wire.FindingWarning, n.Name, "It does not exist: reports are kept, but SQL that names it fails.", FixHere).With(Fix{Views: true}))
		default:
			found = append(found, NewFinding(wire.FindingWarning, n.Name, "A "+n.Is+" that is none of Recoup's has this name. Its rows are not governed; reports to it are kept elsewhere.",
				adopt(n.Name, in)))
		}
	}
	return found
}

// barred is a name in a schema in which the owner of Recoup's schema may not create views.
func barred(in *Input, n store.NameFact) FixableFinding {
	schema, _, _ := strings.Cut(n.Name, ".")
	owner, why, statement := "OWNER", fmt.Sprintf("may not create views in the schema %s", schema), "GRANT USAGE, CREATE ON SCHEMA %s TO %s"
	if in.Facts.Server != nil {
		owner = cmp.Or(in.Facts.Server.Owner.Name, owner)
	}
	if n.Barred == store.NameSchemaMissing {
		why, statement = fmt.Sprintf("may not create schemas, and there is no schema %s", schema), "CREATE SCHEMA %s AUTHORIZATION %s"
	}
	return NewFinding(wire.FindingWarning, n.Name, fmt.Sprintf("It does not exist: %s %s. Reports are kept, but SQL that names it fails. An administrator runs the command; nodes then create it.", owner, why),
		SQLCommand(&in.Facts, fmt.Sprintf(statement, schema, owner)))
}

// adopt is the command that puts a table of others under the policy; in a file, where
// nothing is adopted, the one that gets it out of the way.
func adopt(name string, in *Input) string {
	if in.Facts.File != nil {
		return SQLCommand(&in.Facts, fmt.Sprintf("alter table %q rename to %q", name, name+"_before"))
	}
	entity := "COLUMN"
	if i := slices.IndexFunc(in.Facts.Lookalikes, func(r store.Relation) bool { return r.Name == name }); i >= 0 {
		if queue := in.Facts.Lookalikes[i].Queue; queue != nil {
			return "recoup adopt " + Word(name) + " --preset " + queue.Name
		}
		entity = entityOf(in.Facts.Lookalikes[i], in)
	} else if in.Policy != nil {
		if t, ok := in.Policy.Table(name); ok && t.EntityColumn != "" {
			entity = t.EntityColumn
		}
	}
	return "recoup adopt " + Word(name) + " --entity " + Word(entity)
}

func judgeDeadTables(in *Input) (found []FixableFinding) {
	for _, r := range in.Facts.DeadTables {
		todo := ""
		if i := slices.IndexFunc(in.Policy.DeadTables, func(d policy.DeadTable) bool { return d.Name == r.Name }); i >= 0 {
			todo = " (" + in.Policy.DeadTables[i].Todo + ")"
		}
		found = append(found, NewFinding(wire.FindingNote, r.Name, fmt.Sprintf("The policy calls it dead%s, and it exists, with about %s: nothing that is written there is governed.", todo, count(r.Rows, "row")),
			"recoup adopt "+Word(r.Name)+" --entity "+Word(entityOf(r, in))))
	}
	return found
}

// How a table of errors is recognised: by its name, and by two of three kinds of columns.
var (
	errorName   = regexp.MustCompile(`(?i)(^|_)(errors?|err|fail(ed|ures?|s)?|dead|dlq|deadletters?)(_|$)`)
	messageName = regexp.MustCompile(`(?i)(message|reason|details?|exception|stack|error|description)`)
	codeName    = regexp.MustCompile(`(?i)(^|_)(code|type|kind|class|status|severity|category)$`)
	timeName    = regexp.MustCompile(`(?i)(_at|_on|time|timestamp|date)$`)
	notEntity   = regexp.MustCompile(`(?i)^(error|correlation|trace|request|session|parent|span|event|batch|tenant)_(id|uuid)$`)
	anyID       = regexp.MustCompile(`(?i)_(id|uuid|key)$`)
)

// judgeLookalikes finds tables of others that are error tables by all that they show.
func judgeLookalikes(in *Input) (found []FixableFinding) {
	for _, r := range in.Facts.Lookalikes {
		if queue := r.Queue; queue != nil {
			found = append(found, NewFinding(wire.FindingNote, r.Name, fmt.Sprintf("It is a table of %s (about %s), and no policy governs the jobs that fail there for good.", queue.Of, count(r.Rows, "row")),
				"recoup adopt "+Word(r.Name)+" --preset "+queue.Name))
			continue
		}
		if !looksLikeErrors(r) {
			continue
		}
		found = append(found, NewFinding(wire.FindingNote, r.Name, fmt.Sprintf("It looks like an error table (%s; about %s), and no policy governs it.", columnNames(r), count(r.Rows, "row")),
			"recoup adopt "+Word(r.Name)+" --entity "+Word(entityOf(r, in))))
	}
	return found
}

func looksLikeErrors(r store.Relation) bool {
	_, own, _ := strings.Cut(r.Name, ".")
	if !errorName.MatchString(own) {
		return false
	}
	kinds := 0
	for _, by := range []*regexp.Regexp{messageName, codeName, timeName} {
		if slices.ContainsFunc(r.Columns, func(c store.RelationColumn) bool { return by.MatchString(c.Name) }) {
			kinds++
		}
	}
	return kinds >= 2
}

// entityOf guesses the column of what failed: one that the policy names for its tables,
// else the first reference to something, else the key.
func entityOf(r store.Relation, in *Input) string {
	for _, is := range []func(store.RelationColumn) bool{
		func(c store.RelationColumn) bool { return policyEntity(in, c.Name) },
		func(c store.RelationColumn) bool {
			return anyID.MatchString(c.Name) && !notEntity.MatchString(c.Name) && !c.Key
		},
		func(c store.RelationColumn) bool { return strings.Contains(c.Name, "entity") },
		func(c store.RelationColumn) bool { return c.Key },
	} {
		if i := slices.IndexFunc(r.Columns, is); i >= 0 {
			return r.Columns[i].Name
		}
	}
	return "COLUMN"
}

// policyEntity reports whether a table of the policy has its entities in a column of that name.
func policyEntity(in *Input, column string) bool {
	if in.Policy == nil {
		return false
	}
	for _, t := range in.Policy.Tables() {
		if t.EntityColumn == column {
			return true
		}
	}
	return false
}

// columnNames lists the first columns of a table.
func columnNames(r store.Relation) string {
	const most = 6
	var names []string
	for _, c := range r.Columns {
		names = append(names, c.Name)
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// ahead is how many months after this one must have their partition.
const ahead = 1

func judgePartitions(in *Input) (found []FixableFinding) {
	f := &in.Facts
	if f.Server == nil || in.Policy == nil || !f.Seen(store.FactPartitions) { // without a policy no node has made any
		return nil
	}
	for _, parent := range []string{"error_event", "transition"} {
		for months := range ahead + 1 {
			found = append(found, month(in, parent, store.Month(in.Now).AddDate(0, months, 0), months == 0)...)
		}
	}
	for _, p := range f.Partitions {
		subject := "recoup." + p.Name
		switch {
		case !p.Attached:
			first, err := time.Parse("y2006m01", p.Name[max(0, len(p.Name)-8):])
			bounds := ""
			if err == nil {
				bounds = fmt.Sprintf(" for values from ('%s 00:00:00+00') to ('%s 00:00:00+00')", first.Format(time.DateOnly), first.AddDate(0, 1, 0).Format(time.DateOnly))
			}
			found = append(found, NewFinding(wire.FindingWarning, subject, "It has the name of a partition of recoup."+p.Parent+" and is not attached: what is in it is not seen.",
				SQLCommand(f, "alter table recoup."+p.Parent+" attach partition "+subject+bounds)))
		case len(p.Lacks) > 0:
			found = append(found, NewFinding(wire.FindingCritical, subject, "It lacks its guards "+strings.Join(p.Lacks, ", ")+": statements aimed at it directly are not refused.",
				FixHere).With(guards(p)))
		}
		if p.Default && p.Rows {
			found = append(found, NewFinding(wire.FindingWarning, subject, "Rows went into the default partition: their month had none, and cannot be dropped when it is over.", ""))
		}
	}
	return found
}

// month is the finding for a month that is missing.
func month(in *Input, parent string, first time.Time, now bool) []FixableFinding {
	name := parent + first.Format("_y2006m01")
	if slices.ContainsFunc(in.Facts.Partitions, func(p store.Partition) bool { return p.Parent == parent && (p.Name == name || p.Default) }) {
		return nil
	}
	severity, evidence := wire.FindingWarning, "The partition of next month is missing: writes will fail when it begins."
	if now {
		severity, evidence = wire.FindingCritical, "The partition of this month is missing: writes to recoup."+parent+" fail."
	}
	return []FixableFinding{NewFinding(severity, "recoup."+name, evidence, "recoup jobs run partitions").With(Fix{Partitions: true})}
}

// guards are the statements that give a partition its guards.
func guards(p store.Partition) (r Fix) {
	definitions := map[string]string{
		"known_codes":        "after insert on recoup.%s referencing new table as added for each statement execute function recoup.event_guard()",
		"forbidden":          "before update or delete on recoup.%s for each statement execute function recoup.forbid()",
		"forbidden_truncate": "before truncate on recoup.%s for each statement execute function recoup.forbid()",
	}
	for _, name := range p.Lacks {
		r.Statements = append(r.Statements, fmt.Sprintf("drop trigger if exists %s on recoup.%s", name, p.Name),
			"create trigger "+name+" "+fmt.Sprintf(definitions[name], p.Name))
	}
	return r
}
