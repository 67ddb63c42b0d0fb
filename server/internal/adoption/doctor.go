package adoption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// adoptionPatience is how long an adoption or a release may be under way before it
	// counts as left half done.
	adoptionPatience = time.Hour

	// changePatience is how long a change of an adopted table may wait for a node, which
	// looks every second.
	changePatience = 5 * time.Minute
)

// Check is the doctor's check of adopted tables.
func Check() doctor.Check {
	return doctor.Check{
		Name: checkName, About: "adopted tables that are gone, half adopted, without their triggers, or that no node follows", Judge: judgeAdoptions, After: "ungoverned",
	}
}

// What the doctor can have done to an adopted table.
const (
	repairRole    = "repair the login role"
	remakeObjects = "make triggers and functions anew"
)

// judgeAdoptions looks at tables that are governed where they are.
func judgeAdoptions(in *doctor.Input) (found []doctor.FixableFinding) {
	now := in.Facts.Clock
	for _, a := range FactsOf(&in.Facts) {
		under := now.Sub(a.BegunAt) > adoptionPatience
		switch {
		case a.Gone:
			found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, "It was adopted and does not exist any more: its errors stay open until it is released.", "recoup adopt release "+doctor.Word(a.Source)))
		case a.State == wire.AdoptionReleasing && under:
			found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, "Its release was begun and not finished.", "recoup adopt release "+doctor.Word(a.Source)))
		case a.State == wire.AdoptionReleasing:
		case a.State == wire.AdoptionAdopting && under:
			found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, "Its adoption was begun and not finished: none of its rows are governed.", "recoup adopt "+doctor.Word(a.Source)+" --apply"))
		case a.State == wire.AdoptionAdopting:
		case len(a.Lacks) > 0:
			found = append(found, mute(in, a))
		case a.Given:
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, "It has another owner now, or a partition of it has. Nodes do not run code of that owner with the rights of the one before, and leave the table alone. Release it, then adopt it again.", "recoup adopt release "+doctor.Word(a.Source)))
		case a.Foreign != "":
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, a.Foreign+". Nodes leave the table alone until that changes: "+a.ForeignWay+".", ""))
		case a.Unreachable != "" && (a.Login == "" || a.Login == LoginOwn && oneRole(in)):
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, "Nodes cannot connect to it: "+a.Unreachable+
				". Its changes are noted and wait. Adopt it again, which repairs its login role, or let the role log in (pg_hba.conf).", "recoup adopt "+doctor.Word(a.Source)+" --apply"))
		case len(a.Lost) > 0:
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, "Nodes cannot read it, because columns were renamed or dropped that its adoption names: "+
				strings.Join(a.Lost, ", ")+". Its writers go on, ungoverned. Release it, then adopt it as it is now.", "recoup adopt release "+doctor.Word(cmp.Or(a.Renamed, a.Source))))
		case a.Renamed != "":
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, "It is called "+a.Renamed+" now, and nodes look for it under its old name. Release it, then adopt it under the new one.", "recoup adopt release "+doctor.Word(a.Renamed)))
		case len(a.Missing) > 0:
			found = append(found, unseen(a))
		case len(a.Altered) > 0:
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, "Functions by which nodes reach it were changed since it was adopted (body, owner, rights or settings): recoup."+strings.Join(a.Altered, ", recoup.")+
				". Make them anew.", doctor.FixHere).With(doctor.Fix{Slice: checkName, Act: remakeObjects, On: a.Source}))
		case a.Retired:
			found = append(found, doctor.NewFinding(wire.FindingCritical, a.Source, fmt.Sprintf("It is adopted as %s, which the policy in force no longer has: what fails in it is kept among the orphans and blocks nobody. Move it to another table of the policy, or release it.",
				a.Table), "recoup adopt "+doctor.Word(a.Source)+" --as TABLE --apply"))
		case !a.WaitingSince.IsZero() && now.Sub(a.WaitingSince) > changePatience:
			found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, fmt.Sprintf("Changes of its rows have waited for a node since %s: no node runs, or none can read it.",
				a.WaitingSince.UTC().Format("2006-01-02 15:04 MST")), "recoup serve"))
		case a.Unreadable > 0:
			found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, fmt.Sprintf("A condition of its adoption fails on %d of its rows, such as that of key %s (%s). Correct them, or release it and adopt it with another condition.",
				a.Unreadable, a.Example.Key, a.Example.Cause), "recoup adopt release "+doctor.Word(a.Source)))
		case a.Unlimited != "":
			found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, "Its login role has no limit of connections: code of the table's owner could use up those of the server.",
				doctor.SQLCommand(&in.Facts, a.Unlimited)).With(doctor.Fix{Statements: []string{a.Unlimited}}))
		}
		if !a.Gone && a.State != wire.AdoptionReleasing && a.State != wire.AdoptionAdopting {
			found = append(append(found, judgeLogin(in, a)...), slices.Concat(judgeRefused(a), judgeSource(in, a))...)
		}
	}
	return found
}

// mute is a table whose triggers may not write changes down: after a restore without
// privileges, say.
func mute(in *doctor.Input, a Fact) doctor.FixableFinding {
	var grants []string
	for _, privilege := range a.Lacks {
		grants = append(grants, "grant "+privilege+" to "+a.Noter)
	}
	return doctor.NewFinding(wire.FindingCritical, a.Source, fmt.Sprintf("Statements that write it fail: its triggers act as %s, who lacks %s.", a.Noter, strings.Join(a.Lacks, " and ")),
		doctor.SQLCommand(&in.Facts, grants...)).With(doctor.Fix{Statements: grants})
}

// judgeLogin looks at the role as which nodes connect to an adopted table. A restore on another
// server loses it, or its rights, and a copy of a database uses the role of the original.
func judgeLogin(in *doctor.Input, a Fact) []doctor.FixableFinding {
	severity, why := wire.FindingCritical, ""
	switch a.Login {
	case LoginOwn:
		if oneRole(in) {
			return nil
		}
		if why = "It has no login role of its own, because none could be created when it was adopted. Nodes that do not connect as the owner of the schema cannot reach it."; a.Unreachable == "" {
			severity = wire.FindingWarning
		}
	case LoginMissing:
		why = "Nodes cannot connect to it: its login role " + a.Role + " does not exist. Its changes are noted and wait."
	case LoginUnusable:
		why = "Nodes cannot read it: its login role " + a.Role + " may not call its functions. Its changes are noted and wait."
	case LoginPublic:
		why = "Every role that can use the schema recoup can call the functions by which nodes reach it."
	case LoginForeign:
		severity, why = wire.FindingWarning, "Its login role "+a.Role+" was created for another database, of which this one is a copy. Nodes of both know its password, or nodes of this one cannot connect."
	default:
		return nil
	}
	return []doctor.FixableFinding{doctor.NewFinding(severity, a.Source, why+" The user of --database needs CREATEROLE to repair it, or a role that an administrator has created: the command prints the statements.", doctor.FixHere).With(doctor.Fix{Slice: checkName, Act: repairRole, On: a.Source})}
}

// oneRole reports whether nodes connect as the owner of the schema, because no other role can be created.
func oneRole(in *doctor.Input) bool { return in.Facts.Server != nil && in.Facts.Server.Owner.OneRole() }

// judgeRefused looks at rows that do not take what the policy decides.
func judgeRefused(a Fact) []doctor.FixableFinding {
	if a.Refused == 0 {
		return nil
	}
	return []doctor.FixableFinding{doctor.NewFinding(wire.FindingWarning, a.Source, fmt.Sprintf("It refuses what Recoup writes into %d of its rows, such as that of key %s (%s): they show an old disposition. Change the constraint or the trigger that refuses it. Nodes retry with growing pauses of up to an hour.",
		a.Refused, a.Refuser.Key, a.Refuser.Cause), "")}
}

// judgeSource compares what the policy makes of the rows of an adopted table with what the
// table has and its owner has agreed to.
func judgeSource(in *doctor.Input, a Fact) (found []doctor.FixableFinding) {
	var rules wire.SourceRules
	if in.Policy != nil {
		if t, ok := in.Policy.Table(a.Table); ok {
			rules = t.Source
		}
	}
	lacks := func(has []string) (missing []string) {
		for _, column := range rules.Columns() {
			if !slices.Contains(has, column) {
				missing = append(missing, column)
			}
		}
		return missing
	}
	switch columns, unagreed := lacks(a.Columns), lacks(a.Agreed.Columns()); {
	case len(columns) > 0:
		found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, fmt.Sprintf("The policy keeps columns of it that it does not have: %s. Correct the source block of %s.",
			strings.Join(columns, ", "), a.Table), "recoup policy apply FILE --reason TEXT"))
	case len(unagreed) > 0:
		found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, "The policy keeps columns of it that its functions do not give: "+strings.Join(unagreed, ", ")+".", "recoup adopt "+doctor.Word(a.Source)+" --apply"))
	case rules.Removes() && rules.AtEnd != a.Agreed.AtEnd:
		found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, fmt.Sprintf("By the policy its rows %s at the end, and its owner has not agreed to that: they are kept.", rules.AtEnd), "recoup adopt "+doctor.Word(a.Source)+" --apply"))
	}
	if a.KeptBack > 0 && rules.Removes() {
		found = append(found, doctor.NewFinding(wire.FindingWarning, a.Source, fmt.Sprintf("By the policy its rows %s at the end, and it refuses that for %d of them: %s. Remove what holds them, or have the policy keep them.", rules.AtEnd, a.KeptBack, a.KeptWhy), "recoup policy apply FILE --reason TEXT"))
	}
	return found
}

// unseen is a table without some of its triggers, or nodes without functions. Triggers of new
// partitions are added by nodes, or by adopting it again; all others are made anew.
func unseen(a Fact) doctor.FixableFinding {
	const why = "Rows of it fail unseen, because these are missing or disabled: "
	for _, m := range a.Missing {
		if _, table, ok := strings.Cut(m, " on "); !ok || table == a.Source || strings.HasPrefix(table, "recoup.") {
			return doctor.NewFinding(wire.FindingCritical, a.Source, why+strings.Join(a.Missing, ", ")+".", doctor.FixHere).With(doctor.Fix{Slice: checkName, Act: remakeObjects, On: a.Source})
		}
	}
	return doctor.NewFinding(wire.FindingCritical, a.Source, untriggered(a), "recoup adopt "+doctor.Word(a.Source)+" --apply")
}

// untriggered describes partitions without triggers.
func untriggered(a Fact) string {
	const most = 5
	var names []string
	for _, m := range a.Missing {
		if _, table, _ := strings.Cut(m, " on "); !slices.Contains(names, table) {
			names = append(names, table)
		}
	}
	shown := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		shown += ", …"
	}
	text := fmt.Sprintf("%d of %d partitions lack triggers, or have them disabled (%s): rows that are written into them directly, and not through %s, are not governed.", len(names), max(a.Partitions, len(names)), shown, a.Source)
	if a.UnseenSince.IsZero() {
		return text + " Nodes add missing triggers within a minute, if one runs. Enable those that are disabled with ALTER TABLE … ENABLE ALWAYS TRIGGER."
	}
	why := ""
	if a.UnseenWhy != "" {
		why = " (" + a.UnseenWhy + ")"
	}
	return text + fmt.Sprintf(" Nodes have not been able to add them since %s%s.", a.UnseenSince.UTC().Format("2006-01-02 15:04 MST"), why)
}
