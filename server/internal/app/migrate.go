package app

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
)

// MigrationStatus lists the migrations that this binary knows. It changes nothing. SchemaOwner is
// the role that owns the schema recoup, if it was stated.
func MigrationStatus(ctx context.Context, database, schemaOwner string) (store.Migrations, error) {
	kind, rest, err := splitDatabase(database)
	if err != nil {
		return nil, err
	}
	if kind == "sqlite" {
		return sqlite.Status(ctx, rest)
	}
	return postgres.Status(ctx, rest, schemaOwner)
}

// MigrateUp brings a schema up to date and returns what it applied. Direct is the
// database's own address where the other is a pooler's; empty: it is not.
func MigrateUp(ctx context.Context, database, direct string) (applied store.Migrations, err error) {
	before, err := MigrationStatus(ctx, database, "")
	kind, rest, _ := splitDatabase(database)
	if _, refused := errors.AsType[*pgsession.OwnerError](err); refused {
		return nil, postgres.Migrate(ctx, cmp.Or(direct, rest)) // which lists all that is in the way
	}
	if err != nil {
		return nil, err
	}
	if kind == "sqlite" {
		err = sqlite.Migrate(ctx, rest)
	} else {
		err = postgres.Migrate(ctx, cmp.Or(direct, rest))
	}
	if err != nil {
		return nil, err
	}
	for _, m := range before {
		if m.AppliedAt.IsZero() {
			applied = append(applied, m)
		}
	}
	return applied, nil
}

// TakeOverHelp is what the help of migrations says of tables that are taken over.
const TakeOverHelp = postgres.TakeOverHelp

// TakenOver says what migrations that were applied have taken over from tables that were there
// before; nil: nothing.
func TakenOver(ctx context.Context, database, direct string, applied store.Migrations) (*postgres.TakenOver, error) {
	kind, rest, err := splitDatabase(database)
	if err != nil || kind == "sqlite" || !slices.ContainsFunc(applied, func(m store.Migration) bool { return m.Name == postgres.TakeOverMigration }) {
		return nil, err
	}
	return postgres.ReadTakenOver(ctx, cmp.Or(direct, rest))
}

// RoleAdmins lists the roles that may grant a role of Recoup's to themselves.
func RoleAdmins(ctx context.Context, database, direct string) ([]store.RoleAdmin, error) {
	kind, rest, err := splitDatabase(database)
	if err != nil || kind == "sqlite" {
		return nil, err
	}
	return postgres.RoleAdmins(ctx, cmp.Or(direct, rest))
}

// SchemaOwner is the owner of the schema recoup on PostgreSQL. An SQLite file has none, and no roles.
func SchemaOwner(ctx context.Context, database, direct string) (owner store.SchemaOwner, err error) {
	kind, rest, err := splitDatabase(database)
	if err != nil || kind == "sqlite" {
		return owner, err
	}
	return postgres.ReadSchemaOwner(ctx, cmp.Or(direct, rest))
}
