package sqldb

// Dialect is the SQL dialect of a database.
type Dialect uint8

// The dialects.
const (
	PostgreSQL Dialect = iota + 1
	SQLite
)

// Either returns the text for the database.
func (d Dialect) Either(postgres, sqlite string) string {
	if d == SQLite {
		return sqlite
	}
	return postgres
}
