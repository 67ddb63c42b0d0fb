package app

import (
	"context"
	"time"

	"recoup/internal/store/postgres"
	"recoup/internal/store/sqlite"
)

// Migration is one step of a schema.
type Migration struct {
	Version   int64     `json:"version"`
	Name      string    `json:"name"`
	AppliedAt time.Time `json:"applied_at,omitzero"` // zero: not yet
}

// MigrationStatus lists the migrations that this binary knows. It changes nothing.
func MigrationStatus(ctx context.Context, database string) ([]Migration, error) {
	kind, rest, err := splitDatabase(database)
	if err != nil {
		return nil, err
	}
	var list []Migration
	if kind == "sqlite" {
		found, err := sqlite.Status(ctx, rest)
		for _, m := range found {
			list = append(list, Migration(m))
		}
		return list, err
	}
	found, err := postgres.Status(ctx, rest)
	for _, m := range found {
		list = append(list, Migration(m))
	}
	return list, err
}

// MigrateUp brings a schema up to date and returns what it applied.
func MigrateUp(ctx context.Context, database string) ([]Migration, error) {
	before, err := MigrationStatus(ctx, database)
	if err != nil {
		return nil, err
	}
	kind, rest, _ := splitDatabase(database)
	if kind == "sqlite" {
		err = sqlite.Migrate(ctx, rest)
	} else {
		err = postgres.Migrate(ctx, rest)
	}
	if err != nil {
		return nil, err
	}
	var applied []Migration
	for _, m := range before {
		if m.AppliedAt.IsZero() {
			applied = append(applied, m)
		}
	}
	return applied, nil
}
