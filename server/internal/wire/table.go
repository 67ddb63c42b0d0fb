package wire

import (
	"fmt"

	"github.com/recoup-dev/recoup"
)

// ErrorTable is an error table of the policy, and what has its names in the database.
type ErrorTable struct {
	Table        string        `json:"table" doc:"its name" example:"app.errors"`
	Hub          string        `json:"hub" doc:"the hub that owns it"`
	EntityColumn string        `json:"entity_column" doc:"the column that holds the entity"`
	Default      recoup.Action `json:"default" doc:"what becomes of an error that no rule decides: RETRY, PARK, ARCHIVE or IGNORE"`
	Blocks       bool          `json:"blocks" doc:"its errors keep their entity from being promoted"`
	Archive      string        `json:"archive,omitempty" doc:"the name of its archive"`
	Names        []TableName   `json:"names" doc:"what has its name, and its archive's, in the database"`
}

// NameStanding is what a name that the policy gives to a table is in the database.
type NameStanding string

// The standings of a name.
const (
	NameView    NameStanding = "VIEW"    // a view of the table's errors
	NameFree    NameStanding = "FREE"    // nothing yet
	NameTaken   NameStanding = "TAKEN"   // something that is not Recoup's
	NameAdopted NameStanding = "ADOPTED" // a table that is governed in place
)

// KindLocked is the kind of a view of Recoup's that could not be made or renewed because
// another session holds a lock. Nodes retry it.
const KindLocked = "locked view"

// TableName is a name that the policy gives to an error table or to its archive, and
// what has it in the database. The errors of a table are governed and kept whatever has
// its name.
type TableName struct {
	Name     string       `json:"name" doc:"schema and name" example:"app.errors"`
	Table    string       `json:"table" doc:"the error table whose name or whose archive's it is"`
	Archive  bool         `json:"archive" doc:"it is the archive's"`
	Standing NameStanding `json:"standing" enum:"VIEW,FREE,TAKEN,ADOPTED" doc:"VIEW: a view of the table's errors; FREE: nothing yet; TAKEN: something that is not Recoup's, errors are kept without a view of that name; ADOPTED: a table that is governed in place"`
	Kind     string       `json:"kind,omitempty" doc:"of what is in the way: table, view, sequence, schema …"`
	Owner    string       `json:"owner,omitempty" doc:"whose that is"`
}

// Adopted reports whether the errors of the table can be seen under the name.
func (n *TableName) Adopted() bool { return n.Standing == NameView || n.Standing == NameAdopted }

// Obstacle says what is in the way of a name, without its owner.
func (n *TableName) Obstacle() string {
	switch {
	case n.Kind == KindLocked:
		return "its view could not be made or renewed yet: another session holds a lock"
	case n.Standing == NameFree && n.Kind == "":
		return "its view is not made yet"
	case n.Standing == NameFree:
		return "its view cannot be made: " + n.Kind
	case n.Kind == "schema":
		return "its view cannot be made: the owner of Recoup's schema may not create in that schema"
	case n.Kind == "missing schema":
		return "its view cannot be made: the owner of Recoup's schema may not create schemas in this database"
	}
	return fmt.Sprintf("the name is taken by %s %s that is not Recoup's", article(n.Kind), n.Kind)
}

func article(noun string) string {
	if noun == "index" {
		return "an"
	}
	return "a"
}

// Tables is the answer about the policy's error tables.
type Tables struct {
	Tables []ErrorTable `json:"tables" doc:"those that the caller may see, in the policy's order"`
}
