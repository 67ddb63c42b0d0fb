package app

import (
	"context"
	"errors"

	"recoup/internal/store/sqlite"
)

// Backup writes the embedded database to a new file, while nodes go on with it.
func Backup(ctx context.Context, database, to string) error {
	path, err := embedded(database)
	if err != nil {
		return err
	}
	return sqlite.Backup(ctx, path, to)
}

// Restore puts a backup in the place of the embedded database, which nobody may have open.
func Restore(ctx context.Context, from, database string) error {
	path, err := embedded(database)
	if err != nil {
		return err
	}
	return sqlite.Restore(ctx, from, path)
}

// embedded is the file of an embedded database.
func embedded(database string) (path string, err error) {
	kind, path, err := splitDatabase(database)
	if err == nil && kind != "sqlite" {
		err = errors.New("PostgreSQL has tools of its own for this: pg_dump, pg_basebackup and point-in-time recovery")
	}
	return path, err
}
