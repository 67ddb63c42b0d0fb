package sqldb

import (
	"slices"
	"strings"
)

// Table is the name of a table, with its schema, and its columns. Both stores make
// their statements from it; each has its own codecs, one per kind of column.
//
//	var Keys = sqldb.Table[Key]{Name: "recoup.api_key", Columns: []sqldb.Column[Key]{
//		sqldb.ID("key_id", func(k *Key) *recoup.ID { return &k.ID }).Key(),
//		sqldb.Text("role", func(k *Key) *string { return &k.Role }).Fixed(),
//		sqldb.Time("expires_at", func(k *Key) *time.Time { return &k.ExpiresAt }),
//	}}
//
// A zero value in Go (an empty text, an unset time or id, no bytes) is NULL in the
// database, unless its kind says otherwise, and NULL is read as zero: a row that an
// outer join lacks is the zero value.
//
// Roles of columns replace lists that would have to agree in their order: key columns
// find a row, fixed ones are written once, and drawn ones come from the database.
type Table[R any] struct {
	Name    string
	Columns []Column[R]
}

// Written returns the table with the columns that an insert writes.
func (t Table[R]) Written() Table[R] {
	return t.keep(func(c *Column[R]) bool { return c.role&isDrawn == 0 })
}

// Changing returns the table with the key and the columns that an update writes.
func (t Table[R]) Changing() Table[R] {
	return t.keep(func(c *Column[R]) bool { return c.role&isKey != 0 || c.role&(isFixed|isDrawn|isUnique) == 0 })
}

// Keys returns the names of the key columns.
func (t Table[R]) Keys() []string { return t.named(isKey) }

// Identity returns the names of the key columns, and of the columns that are unique
// beside the key.
func (t Table[R]) Identity() (key, unique []string) { return t.named(isKey), t.named(isUnique) }

// But returns the table without some columns.
func (t Table[R]) But(names ...string) Table[R] {
	return t.keep(func(c *Column[R]) bool { return !slices.Contains(names, c.Name) })
}

// Only returns the table with only some columns.
func (t Table[R]) Only(names ...string) Table[R] {
	return t.keep(func(c *Column[R]) bool { return slices.Contains(names, c.Name) })
}

// Names returns the list of columns for a statement, each with a prefix such as "e.".
func (t Table[R]) Names(prefix string) string {
	list := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		list[i] = prefix + c.Name
	}
	return strings.Join(list, ", ")
}

func (t Table[R]) keep(which func(*Column[R]) bool) Table[R] {
	list := t.Columns[:0:0]
	for i := range t.Columns {
		if which(&t.Columns[i]) {
			list = append(list, t.Columns[i])
		}
	}
	return Table[R]{t.Name, list}
}

func (t Table[R]) named(r role) (names []string) {
	for _, c := range t.Columns {
		if c.role&r != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}
