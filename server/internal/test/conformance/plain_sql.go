package conformance

// PlainSQL is a way to a store's database by plain SQL, as somebody else's
// program has it. Statements are written for PostgreSQL, with {id} for a fresh
// id, {hour} for an hour and {time} for some time; a store translates what it
// spells differently.
type PlainSQL interface {
	// Try runs a statement and, if it succeeds, undoes it.
	Try(sql string) error

	// Do runs a statement that must succeed.
	Do(sql string)

	// Refused reports whether an error says that the rules forbid a statement,
	// rather than that it is wrong.
	Refused(err error) bool

	// Dump returns all rows of the tables in question.
	Dump() string
}

// plainAct is one statement, and what a person means by it.
type plainAct struct{ means, sql string }
