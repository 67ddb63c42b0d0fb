package sqldb

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
)

// Kind is the type of a column. It determines which accessor of the column is set.
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

// role is the use of a column in statements.
type role uint8

const (
	isKey role = 1 << iota
	isUnique
	isFixed
	isDrawn
)

// Key marks a column of the primary key.
func (c Column[R]) Key() Column[R] { return c.with(isKey) }

// Unique marks a column with a unique constraint, beside the key.
func (c Column[R]) Unique() Column[R] { return c.with(isUnique) }

// Fixed marks a column that updates do not change.
func (c Column[R]) Fixed() Column[R] { return c.with(isFixed) }

// Drawn marks a column that the database generates.
func (c Column[R]) Drawn() Column[R] { return c.with(isDrawn) }

func (c Column[R]) with(r role) Column[R] {
	c.role |= r
	return c
}

// Within returns the columns of a part as columns of the whole, each with a prefix such
// as "e.", for a join.
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

// Prefixed returns the columns with a prefix before their names.
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
