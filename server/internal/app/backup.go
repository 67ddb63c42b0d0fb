package app

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Backup writes the embedded database to a new file, while nodes go on with it.
func Backup(ctx context.Context, o Options, to string) error {
	path, err := embedded(o.Database)
	if err != nil {
		return err
	}
	if err := sqlite.Backup(ctx, path, to); err != nil {
		return err
	}
	return recordBackup(ctx, path, to, o.clock()())
}

// recordBackup writes down that a backup was made, by which the doctor knows. A database
// that this binary would have to migrate first is left as it is.
func recordBackup(ctx context.Context, path, to string, now time.Time) error {
	list, err := sqlite.Status(ctx, path)
	if err != nil || slices.ContainsFunc(list, func(m store.Migration) bool { return m.AppliedAt.IsZero() }) {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	act := store.Act{By: CommandLine, At: now}
	return errors.Join(s.AppendAudit(ctx, act.On(store.ActBackup, filepath.Base(to), nil)), s.Close())
}

// Restore puts a backup in the place of the embedded database, which nobody may have open.
func Restore(ctx context.Context, from, database string) error {
	path, err := embedded(database)
	if err != nil {
		return err
	}
	return sqlite.Restore(ctx, from, path)
}

// Guards looks at the guards of a database: triggers that are missing, replaced or none of
// Recoup's. known is false if the schema is not the one that this binary knows; then nothing was
// looked at.
func Guards(ctx context.Context, o Options) (found wire.Diagnosis, known bool, err error) {
	d, err := OpenDoctor(ctx, o)
	if err != nil {
		return found, false, err
	}
	if d.store != nil {
		found, err = d.Examine(ctx)
	}
	found.Checks = 1
	found.Findings = slices.DeleteFunc(found.Findings, func(f wire.Finding) bool { return f.Check != doctor.TriggerCheck })
	return found, d.store != nil, errors.Join(err, d.Close())
}

// embedded is the file of an embedded database.
func embedded(database string) (path string, err error) {
	kind, path, err := splitDatabase(database)
	if err == nil && kind != "sqlite" {
		err = errors.New("PostgreSQL has tools of its own for this: pg_dump, pg_basebackup and point-in-time recovery")
	}
	return path, err
}
