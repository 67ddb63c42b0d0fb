// Package define puts tables that were there before Recoup under its policy, where
// they are, and takes everything out of them again (decisions 0076 and 0082). It
// reads the catalog of a PostgreSQL database, guesses which column means what,
// writes the statements that an adoption needs, and runs them one short transaction
// at a time. What follows from an adoption, errors and their lifecycle, nodes do:
// they are reached through the row of recoup.adoption and the functions that are
// made here.
package define

import (
	"errors"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Source is an existing table, as the catalog describes it.
type Source struct {
	OID         uint32
	Schema      string
	Name        string
	Kind        string // of pg_class: r, p, v, m, f
	Persistence string // p, u or t
	Owner       string
	OwnerSuper  bool
	OwnerUses   bool   // its owner may use its schema
	SchemaOwner string // of its schema
	Rows        int64  // by estimate; -1: never counted
	Pages       int64
	Columns     []Column
	Key         []Column // what tells its rows apart; none: it has to get a key
	KeyIndex    string
	Partitions  []Partition
	PartitionOf string // the parent, if it is a partition
	Inherits    bool   // it has parents or children of the old kind
	OfType      bool   // made of a composite type
	Rules       []string
	RowSecurity bool
	Forced      bool     // row security holds its owner too
	OwnerSees   bool     // a policy shows its owner every row
	Referrers   []string // tables with foreign keys to it
	Triggers    []string // of its owner, that run on every update of a row
	Published   []string // publications that it is in
	Subscribed  bool     // it, or a partition of it, is in a subscription
	Triggerers  []string // roles, in SQL, that can create triggers on it and have not the rights of its owner
}

// Column is a column of a source.
type Column struct {
	Name      string
	Type      string // as the database writes it
	Base      string // the type that is cast to: without a modifier, qualified
	Kind      string // of pg_type: b, e, d, c, r, m
	Category  string // of pg_type: N, S, D, B, U, E, A …
	NotNull   bool
	Generated bool

	last bool   // of an array, the last
	path string // into JSON; what it leads to is text
}

// Partition is a table that holds some of the rows of a source.
type Partition struct {
	OID     uint32
	Schema  string
	Name    string
	Foreign bool
	Owner   string // if that role has not the rights of the source's owner

	// Triggers are those of adoptions that it has. They can be disabled.
	Triggers []string
}

// Quoted is the partition's name in SQL.
func (p Partition) Quoted() string { return quote(p.Schema, p.Name) }

// Quoted is the source's name in SQL.
func (s *Source) Quoted() string { return quote(s.Schema, s.Name) }

// String is the source's name for people and policies.
func (s *Source) String() string { return s.Schema + "." + s.Name }

// Column returns a column by its name.
func (s *Source) Column(name string) (Column, bool) {
	for _, c := range s.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// Adoption is what the functions and triggers of an adoption are made of.
type Adoption struct {
	ID         int
	Role       string // login role as which nodes call its functions; empty: the owner of the schema recoup
	Source     *Source
	Mapping    wire.Mapping
	Default    recoup.Disposition // of the policy's table, which new rows get
	Conditions Conditions
	Preset     *preset.Preset   // nil: none
	MoveTo     string           // another table of the policy; empty: it stays under its own
	Rules      wire.SourceRules // which columns are kept with errors, and whether rows leave

	// Of an adoption that was begun before: steps that are done, and for which rules.
	done   []string
	agreed wire.SourceRules
	former string // login role that was created for another database, of which this one is a copy; empty: none
}

// Conditions are the conditions of a mapping, as the database understood them.
type Conditions struct {
	Governed, Resolved string   // expressions over columns of the source; empty: none
	Underway           string   // as well
	Columns            []string // that they depend on

	// Safe says that Governed is a preset's own, which fails on no row: triggers may ask it.
	Safe bool
}

// KeyColumn is the column that a source without a key gets.
const KeyColumn = "recoup_key"

// key lists the columns that tell rows apart.
func (a *Adoption) key() []Column {
	if len(a.Source.Key) > 0 {
		return a.Source.Key
	}
	return []Column{{Name: KeyColumn, Type: "uuid", Base: "uuid", Kind: "b", Category: "U"}}
}

// mirrors reports whether the source is told what becomes of its errors.
func (a *Adoption) mirrors() bool { return a.Mapping.Disposition != "" }

// name is that of a function or a trigger of the adoption.
func (a *Adoption) name(what string) string {
	return fmt.Sprintf("adopted_%d_%s", a.ID, what)
}

// ErrRefused is wrapped by what says why a table cannot be adopted as it is.
var ErrRefused = errors.New("cannot be adopted")
