package store

import (
	"fmt"
	"slices"
	"strings"
)

// SchemaOwner is the owner of the schema recoup, and the roles of Recoup that do not exist.
type SchemaOwner struct {
	Name         string // quoted for SQL
	CreatesRoles bool   // it may create roles
	Missing      []string
}

// OneRole reports whether nodes connect as the owner of the schema, because the role of nodes does
// not exist and the owner may not create it.
func (o SchemaOwner) OneRole() bool {
	return !o.CreatesRoles && slices.Contains(o.Missing, "recoup_app")
}

// Weaker lists what an installation with one role lacks.
func (o SchemaOwner) Weaker() []string {
	return []string{
		fmt.Sprintf("Nodes connect as %s, the owner of the schema. Triggers still refuse forbidden changes, but privileges do not: the owner can disable triggers and delete everything.", o.Name),
		fmt.Sprintf("Pipelines and analysts in plain SQL use %s too, or other roles with views and grants that you create.", o.Name),
		"Row security is not available.",
		fmt.Sprintf("Nodes reach adopted tables that belong to %s with its own login. Tables of other roles can be adopted only after an administrator has created a login role for the adoption.", o.Name),
	}
}

// CreateRoles is the statement with which an administrator creates the roles that are missing.
func (o SchemaOwner) CreateRoles() string {
	statements := make([]string, len(o.Missing))
	for i, role := range o.Missing {
		statements[i] = "CREATE ROLE " + role + " LOGIN;"
	}
	return strings.Join(statements, " ")
}
