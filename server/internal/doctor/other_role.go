package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// secretTable matches the tables with keys, sessions and passwords, and those that serve as locks.
var secretTable = regexp.MustCompile(`^recoup\.(api_key|platform_key|adoption_login|session|gate_stripe_[0-9]+|turn_lock|lock_secret|schema_lock)$`)

// judgeOtherRoles has no remedy for --fix: an administrator may have granted these on purpose.
func judgeOtherRoles(in *Input) (found []FixableFinding) {
	f := &in.Facts
	if f.Server == nil {
		return nil
	}
	for _, g := range f.Server.OtherGrants {
		if strings.HasPrefix(g.On, "cl.") && !known(f, g.On) { // something that others have added
			continue
		}
		severity, effect := weigh(g)
		list := strings.Join(g.Privileges, ", ")
		found = append(found, NewFinding(severity, fmt.Sprintf("%s on %s %s", g.Role, g.Kind, g.On), "It has "+list+", which Recoup did not grant. "+effect,
			SQLCommand(f, fmt.Sprintf("revoke %s on %s %s from %s", list, g.Kind, g.On, g.Role))))
	}
	for _, g := range f.Server.DefaultGrants {
		found = append(found, NewFinding(wire.FindingWarning, "default privileges on "+g.On, fmt.Sprintf("They grant new objects of Recoup's owner, such as the tables of each month, to %s.", g.Role),
			SQLCommand(f, g.Revoke)))
	}
	return found
}

// weigh returns how bad a privilege of another role is, and why.
func weigh(g store.OtherGrant) (wire.FindingSeverity, string) {
	reads := !slices.ContainsFunc(g.Privileges, func(p string) bool { return p != "select" && p != "usage" })
	switch {
	case g.Kind == "table" && secretTable.MatchString(g.On):
		return wire.FindingCritical, "The table has keys, sessions or passwords, or serves as a lock: the role can act as an administrator, or stop reports and promotions."
	case g.Kind == "schema" && !reads:
		return wire.FindingCritical, "The role can create objects in the schema, where code of nodes and of the owner may run them."
	case g.Kind == "schema":
		return wire.FindingNote, "The role can create views over the tables in it and hold locks on them. Revoke it if the role does not need it; members of recoup_reader and recoup_writer do not."
	case reads:
		return wire.FindingNote, "The role reads it in full, or until row security is on."
	}
	return wire.FindingWarning, "The role can change what only nodes change."
}
