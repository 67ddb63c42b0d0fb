// Package sqldb says, once, of what columns a row of a table consists and where
// each belongs in a Go value. Both stores make their statements from it and bring
// codecs of their own, one per kind: how a time is written on PostgreSQL's wire or in
// an SQLite file is known only there.
//
//	var Keys = sqldb.Table[Key]{Name: "recoup.api_key", Columns: []sqldb.Column[Key]{
//		sqldb.ID("key_id", func(k *Key) *recoup.ID { return &k.ID }).Key(),
//		sqldb.Text("role", func(k *Key) *string { return &k.Role }).Fixed(),
//		sqldb.Time("expires_at", func(k *Key) *time.Time { return &k.ExpiresAt }),
//	}}
//
// What Go calls zero (an empty text, an unset time or id, no bytes) is NULL in the
// database, but for kinds that say otherwise, and NULL is read as zero: a row that
// an outer join lacks is the zero value.
//
// Roles take the place of lists that would have to agree in their order: keys find
// a row, what is fixed is written once, and what is drawn comes from the database.
package sqldb

import (
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// Kind is what a column holds, and says which accessor of the column is set.
type Kind uint8

// The kinds.
const (
	KindText   Kind = iota // Text; empty is NULL
	KindWord               // Text; never NULL
	KindJSON               // Text that is JSON and is kept as it was written; empty is NULL
	KindID                 // ID
	KindTime               // Time, to the microsecond
	KindBool               // Bool; never NULL
	KindInt                // Int of 32 bits; never NULL
	KindCount              // Int of 32 bits; zero is NULL
	KindBig                // Number of 64 bits; never NULL
	KindReal               // Real; never NULL
	KindBytes              // Bytes
	KindHash               // Hash; never NULL
	KindObject             // Object: JSON that the database may read
)

// Column is one column of a row R: its name, its kind, and the accessor that the
// kind names.
type Column[R any] struct {
	Name string
	Kind Kind
	role role

	Text   func(*R) *string
	ID     func(*R) *recoup.ID
	Time   func(*R) *time.Time
	Bool   func(*R) *bool
	Int    func(*R) *int
	Number func(*R) Numberer
	Real   func(*R) *float64
	Bytes  func(*R) *[]byte
	Hash   func(*R) *[32]byte
	Object func(*R) Object
}

// role is what a column is for, beside holding something.
type role uint8

const (
	isKey role = 1 << iota
	isUnique
	isFixed
	isDrawn
)

// Key marks a column by which its row is found.
func (c Column[R]) Key() Column[R] { return c.with(isKey) }

// Unique marks a column that no two rows share, beside the key.
func (c Column[R]) Unique() Column[R] { return c.with(isUnique) }

// Fixed marks a column that never changes once its row is written.
func (c Column[R]) Fixed() Column[R] { return c.with(isFixed) }

// Drawn marks a column that the database fills in by itself.
func (c Column[R]) Drawn() Column[R] { return c.with(isDrawn) }

func (c Column[R]) with(r role) Column[R] {
	c.role |= r
	return c
}

// Table is the name of a table, with its schema, and its columns.
type Table[R any] struct {
	Name    string
	Columns []Column[R]
}

// Written returns the columns that a new row brings along.
func (t Table[R]) Written() Table[R] {
	return t.keep(func(c *Column[R]) bool { return c.role&isDrawn == 0 })
}

// Changing returns the key and the columns that a new version of a row may change.
func (t Table[R]) Changing() Table[R] {
	return t.keep(func(c *Column[R]) bool { return c.role&isKey != 0 || c.role&(isFixed|isDrawn|isUnique) == 0 })
}

// Keys returns the names of the columns that find a row.
func (t Table[R]) Keys() []string { return t.named(isKey) }

// Identity returns the names of the columns of which two rows may not agree in
// the whole key, or in any one that is unique.
func (t Table[R]) Identity() (key, unique []string) { return t.named(isKey), t.named(isUnique) }

// But returns the table without some columns.
func (t Table[R]) But(names ...string) Table[R] {
	return t.keep(func(c *Column[R]) bool { return !slices.Contains(names, c.Name) })
}

// Only returns the table with some columns alone.
func (t Table[R]) Only(names ...string) Table[R] {
	return t.keep(func(c *Column[R]) bool { return slices.Contains(names, c.Name) })
}

// Names lists the columns for a statement, each with a prefix such as "e.".
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

// Within makes the columns of a part into columns of the whole, each with a prefix
// such as "e.", as a join reads them.
func Within[W, P any](prefix string, columns []Column[P], part func(*W) *P) []Column[W] {
	list := make([]Column[W], len(columns))
	for i, c := range columns {
		list[i] = Column[W]{
			Name: prefix + c.Name, Kind: c.Kind, role: c.role,
			Text: through(c.Text, part), ID: through(c.ID, part), Time: through(c.Time, part), Bool: through(c.Bool, part),
			Int: through(c.Int, part), Number: through(c.Number, part), Real: through(c.Real, part), Bytes: through(c.Bytes, part), Hash: through(c.Hash, part),
			Object: through(c.Object, part),
		}
	}
	return list
}

// Prefixed gives the names of columns a prefix.
func Prefixed[R any](prefix string, columns []Column[R]) []Column[R] {
	list := slices.Clone(columns)
	for i := range list {
		list[i].Name = prefix + list[i].Name
	}
	return list
}

func through[W, P, T any](at func(*P) T, part func(*W) *P) func(*W) T {
	if at == nil {
		return nil
	}
	return func(w *W) T { return at(part(w)) }
}

// Batch is rows of some type on their way into a table: the columns are those of
// the row's number, so that who writes it need not know the type.
type Batch struct {
	Table[int]
	Len int
}

// Batch returns records as a batch.
func (t Table[R]) Batch(records []R) Batch {
	columns := Within("", t.Columns, func(i *int) *R { return &records[*i] })
	return Batch{Table[int]{t.Name, columns}, len(records)}
}

// OnConflict is how an insert ends that takes the place of rows with the same key.
func (b Batch) OnConflict() string {
	var set []string
	for _, c := range b.Columns {
		if c.role&isKey == 0 {
			set = append(set, c.Name+" = excluded."+c.Name)
		}
	}
	return " on conflict (" + strings.Join(b.Keys(), ", ") + ") do update set " + strings.Join(set, ", ")
}

// Answer takes up rows of some type on their way out of a table, as [Batch] hands
// them in.
type Answer struct {
	Columns []Column[int]
	Next    func() int   // makes room for a row and returns its number
	Done    func() error // takes the row that is complete; nil: it stays where it is
}

// Into returns an answer that appends to a list.
func Into[R any](list *[]R, columns []Column[R]) Answer {
	return Answer{
		Columns: Within("", columns, func(i *int) *R { return &(*list)[*i] }),
		Next: func() int {
			var zero R
			*list = append(*list, zero)
			return len(*list) - 1
		},
	}
}

// Each returns an answer that hands over one row after the other. A row is valid until
// the next; an error ends the reading.
func Each[R any](columns []Column[R], take func(*R) error) Answer {
	var current R
	return Answer{
		Columns: Within("", columns, func(*int) *R { return &current }),
		Next: func() int {
			var zero R
			current = zero
			return 0
		},
		Done: func() error { return take(&current) },
	}
}
