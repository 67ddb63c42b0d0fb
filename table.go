package recoup

import "fmt"

// NameStanding is what a name that the policy gives to a table is in the database.
type NameStanding string

// The standings of a name.
const (
	NameView    NameStanding = "VIEW"    // a view of the table's errors
	NameFree    NameStanding = "FREE"    // nothing yet
	NameTaken   NameStanding = "TAKEN"   // something that is not Recoup's
	NameAdopted NameStanding = "ADOPTED" // a table that is governed in place
)

// TableName is a name that the policy gives to an error table or to its archive, and
// what has it in the database. The errors of a table are governed and kept whatever has
// its name.
type TableName struct {
	Name     string       `json:"name" doc:"schema and name" example:"outreach.dol_errors"`
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
