package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// judgeGrants compares privileges with those that migrations grant. A role that does not
// exist lacks nothing, nor does one of which it is not known.
func judgeGrants(in *Input) (found []FixableFinding) {
	f, d := &in.Facts, compare(&in.Facts, store.ObjectGrant)
	if f.Server == nil {
		return nil
	}
	lacking := slices.Concat(d.missing, d.changed)
	if !f.Seen(store.FactRoles) {
		lacking = nil
	}
	bare := bareRoles(f)
	for _, role := range bare {
		found = append(found, NewFinding(wire.FindingWarning, "role "+role, "It has none of the privileges that migrations grant it: it was created after the last migration.", fixMigrate).With(Fix{Grants: true}))
	}
	for _, o := range lacking {
		role, on := relation(o)
		if slices.ContainsFunc(f.Server.Roles, func(r store.RoleFact) bool { return r.Name == role && r.Missing }) || slices.Contains(bare, role) || !there(f, on) {
			continue
		}
		has := ""
		if i := slices.IndexFunc(f.Present, func(p store.Object) bool { return p.Kind == o.Kind && p.Name == o.Name }); i >= 0 {
			has = f.Present[i].Definition
		}
		found = append(found, privileges(f, role, on, o.Definition, has)...)
	}
	for _, o := range d.foreign {
		role, on := relation(o)
		if !known(f, on) { // something that others have added
			continue
		}
		found = append(found, privileges(f, role, on, "", o.Definition)...)
	}
	return found
}

// bareRoles lists roles of ours that exist and have none of the privileges that they should have.
func bareRoles(f *store.Facts) (names []string) {
	if !f.Seen(store.FactRoles) || !f.Seen(store.FactGrants) {
		return nil
	}
	for _, r := range f.Server.Roles {
		granted := func(o store.Object) bool {
			return o.Kind == store.ObjectGrant && strings.HasPrefix(o.Name, r.Name+" on ")
		}
		if !r.Missing && slices.ContainsFunc(f.Expected, granted) && !slices.ContainsFunc(f.Present, granted) {
			names = append(names, r.Name)
		}
	}
	return names
}

// there reports whether a thing that is granted exists: what is missing is found as such.
func there(f *store.Facts, on string) bool {
	return !slices.ContainsFunc(f.Expected, func(o store.Object) bool {
		return o.Name == on && !slices.ContainsFunc(f.Present, func(p store.Object) bool { return p.Kind == o.Kind && p.Name == o.Name })
	})
}

func known(f *store.Facts, on string) bool {
	return slices.ContainsFunc(f.Expected, func(o store.Object) bool { return o.Name == on || strings.HasSuffix(o.Name, " on "+on) })
}

// privileges says what a role lacks, and what it has that it should not.
func privileges(f *store.Facts, role, on, want, has string) (found []FixableFinding) {
	lacks, extra := without(want, has), without(has, want)
	subject := role + " on " + on
	if len(lacks) > 0 {
		found = append(found, NewFinding(wire.FindingWarning, subject, "It lacks "+strings.Join(lacks, ", ")+": what needs it is refused.", fixMigrate).With(Fix{Grants: true}))
	}
	switch {
	case len(extra) == 0:
	case isTriggerFunction(f, on):
		revoke := fmt.Sprintf("revoke execute on function %s from %s", on, role)
		found = append(found, NewFinding(wire.FindingCritical, subject, "It may execute a trigger function: it can attach that to a table of its own and run code as the owner of the schema.",
			SQLCommand(f, revoke)).With(Fix{Statements: []string{revoke}}))
	case isFunction(f, on):
		found = append(found, NewFinding(wire.FindingWarning, subject, "It may execute a function that nothing of Recoup's calls as this role.", fixMigrate).With(Fix{Grants: true}))
	default:
		target, _ := strings.CutSuffix(on, "(columns)")
		kind := "table "
		if strings.HasPrefix(on, "schema ") {
			kind = ""
		}
		found = append(found, NewFinding(wire.FindingWarning, subject, "It has "+strings.Join(extra, ", ")+", which nothing of Recoup's needs: the database would not refuse it a mistake.",
			SQLCommand(f, fmt.Sprintf("revoke %s on %s%s from %s", strings.Join(extra, ", "), kind, target, role))))
	}
	return found
}

// isFunction reports whether a thing that is granted is a function of Recoup.
func isFunction(f *store.Facts, on string) bool {
	return slices.ContainsFunc(f.Expected, func(o store.Object) bool { return o.Kind == store.ObjectFunction && o.Name == on })
}

// isTriggerFunction reports whether it is one that only triggers call.
func isTriggerFunction(f *store.Facts, on string) bool {
	return slices.ContainsFunc(f.Expected, func(o store.Object) bool {
		return o.Kind == store.ObjectFunction && o.Name == on && strings.Contains(o.Source, " returns trigger")
	})
}

// without returns the privileges of a list that another has not.
func without(list, other string) (left []string) {
	for p := range strings.SplitSeq(list, ", ") {
		if p != "" && !slices.Contains(strings.Split(other, ", "), p) {
			left = append(left, p)
		}
	}
	return left
}

// roleUse says what a role that does not exist would be for.
var roleUse = map[string]string{
	"recoup_app":    "Nodes that connect as the schema's owner are held back by triggers alone.",
	"recoup_writer": "Pipelines in plain SQL have no role of their own.",
	"recoup_reader": "Analysts in plain SQL have no role of their own.",
}

// judgeOneRole describes an installation whose nodes connect as the owner of the schema, because no
// other role can be created.
func judgeOneRole(f *store.Facts) FixableFinding {
	owner := f.Server.Owner
	return NewFinding(wire.FindingNote, "one role", fmt.Sprintf("%s may not create roles, and Recoup works with this one role. %s To change this, an administrator runs the command below. Then run recoup migrate up, and let nodes connect as recoup_app.",
		owner.Name, strings.Join(owner.Weaker(), " ")), SQLCommand(f, strings.TrimSuffix(owner.CreateRoles(), ";")))
}

// judgeRoles looks at what roles may do beyond what they were granted.
func judgeRoles(in *Input) (found []FixableFinding) {
	if in.Facts.Server == nil {
		return nil
	}
	owner := in.Facts.Server.Owner
	if owner.OneRole() {
		found = append(found, judgeOneRole(&in.Facts))
	}
	for _, r := range in.Facts.Server.Roles {
		switch {
		case r.Missing && owner.OneRole():
		case r.Missing && !owner.CreatesRoles:
			found = append(found, NewFinding(wire.FindingNote, "role "+r.Name, "It does not exist, and the owner of the schema may not create it. "+roleUse[r.Name]+" An administrator creates it, then run recoup migrate up.",
				SQLCommand(&in.Facts, "CREATE ROLE "+r.Name+" LOGIN")))
		case r.Missing:
			found = append(found, NewFinding(wire.FindingNote, "role "+r.Name, "It does not exist. "+roleUse[r.Name], fixMigrate))
		case len(r.Powers) > 0:
			found = append(found, NewFinding(wire.FindingWarning, "role "+r.Name, "It is "+strings.Join(r.Powers, ", ")+": guards and row security do not hold it.",
				SQLCommand(&in.Facts, "alter role "+r.Name+" nosuperuser nobypassrls")))
		}
	}
	for _, a := range in.Facts.Server.RoleAdmins {
		found = append(found, NewFinding(wire.FindingWarning, "role "+a.Admin, fmt.Sprintf("It may grant %s to itself and to others (ADMIN OPTION). %s Leave it if it is an administrator of the server.", a.Role, a.Effect()),
			SQLCommand(&in.Facts, a.Revoke)))
	}
	harmful := slices.Concat(judgeSettings(in), judgeDurability(in))
	for _, s := range in.Facts.Server.RoleSettings {
		if slices.ContainsFunc(harmful, func(f FixableFinding) bool { return f.Subject == s.Name }) {
			continue // found by another check
		}
		found = append(found, NewFinding(wire.FindingWarning, "role "+s.Role, fmt.Sprintf("Its %s is %s, which Recoup has not set. A member of the role can change the role's settings and its password. Leave it if an administrator set it.", s.Name, s.Value),
			SQLCommand(&in.Facts, s.Fix)))
	}
	for _, g := range in.Facts.Server.StaleReaders {
		found = append(found, NewFinding(wire.FindingNote, "role "+g.Reader, fmt.Sprintf("A role of this name, dropped since, could read %s %s. A role that has the name now reads nothing by that. Allow it again with recoup.allow_read, or delete the grant.", g.Kind, g.Name),
			SQLCommand(&in.Facts, g.Fix)))
	}
	return found
}

// JudgeOwners makes the check of owners alone, for a schema from which nothing else may be read.
func JudgeOwners(facts *store.Facts) []FixableFinding {
	found := judgeOwners(&Input{Facts: *facts})
	for i := range found {
		found[i].Check = checkOwners
	}
	return found
}

// judgeOwners has no remedy for --fix: what another role has created must be reviewed first.
func judgeOwners(in *Input) (found []FixableFinding) {
	if in.Facts.Server == nil {
		return nil
	}
	for _, o := range in.Facts.Server.Foreign {
		fix := "review it, then drop it or run ALTER … OWNER TO " + o.Wanted + " as an administrator"
		if strings.HasPrefix(o.Name, "schema ") {
			fix = "review the objects in it, then: " + SQLCommand(&in.Facts, "ALTER "+strings.Replace(o.Name, "schema", "SCHEMA", 1)+" OWNER TO "+o.Wanted)
		}
		found = append(found, NewFinding(wire.FindingCritical, o.Name,
			fmt.Sprintf("It belongs to %s and not to %s, the owner of Recoup's tables. Its owner can replace it with code that runs with the rights of nodes or of %[2]s.", o.Owner, o.Wanted), fix))
	}
	return found
}

// judgeDependents has no remedy for --fix: the objects belong to others.
func judgeDependents(in *Input) (found []FixableFinding) {
	if in.Facts.Server == nil {
		return nil
	}
	for _, d := range in.Facts.Server.Dependents {
		severity, effect := wire.FindingNote, "Migrations that change the table fail while it exists."
		switch {
		case d.Keeps:
			severity, effect = wire.FindingWarning, "The table is a month that cannot be dropped at the end of its retention while it exists."
		case d.Month:
			effect = "The table is a month, and it is dropped together with it."
		}
		fix := ""
		if d.Drop != "" {
			fix = SQLCommand(&in.Facts, d.Drop)
		}
		found = append(found, NewFinding(severity, d.Name, fmt.Sprintf("It belongs to %s and depends on %s. %s", d.Owner, d.On, effect), fix))
	}
	return found
}

// judgePublicSchema has no remedy for --fix: other programs may create objects in the schema.
func judgePublicSchema(in *Input) []FixableFinding {
	if in.Facts.Server == nil || !in.Facts.Server.PublicCreate {
		return nil
	}
	return []FixableFinding{NewFinding(wire.FindingWarning, "schema public",
		"PUBLIC has CREATE on it, the default of PostgreSQL 13 and 14. Any role can create functions and operators there, and sessions with public in their search path may call them. "+
			"Recoup's own sessions use pg_catalog; those of other programs may not. Before its owner revokes it, grant CREATE to the roles that need it.",
		SQLCommand(&in.Facts, "REVOKE CREATE ON SCHEMA public FROM PUBLIC"))}
}

func judgeRowSecurity(in *Input) (found []FixableFinding) {
	if in.Facts.Server == nil {
		return nil
	}
	for _, table := range in.Facts.Server.Unsecured {
		secure := "select recoup.enable_row_security()"
		found = append(found, NewFinding(wire.FindingCritical, "table "+table, "Row security is on for others and not for this one: readers see all of it.",
			SQLCommand(&in.Facts, secure)).With(Fix{Statements: []string{secure}}))
	}
	return found
}
