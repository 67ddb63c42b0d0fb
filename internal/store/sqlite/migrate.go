package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"recoup/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is where goose notes what it has done.
const versionTable = "schema_version"

// patience is how long to wait before looking again whether somebody else has
// finished migrating.
const patience = 20 * time.Millisecond

// migrate brings the schema up to date. Of several processes that come at once
// one migrates, alone with the file, and the others find it done. A file that is
// up to date is not locked at all.
func (f file) migrate(ctx context.Context) error {
	for waited := time.Duration(0); ; waited += patience {
		ready, err := f.current(ctx)
		if ready || err != nil && !busy(err) {
			return err
		}
		if err == nil {
			err = f.upgrade(ctx)
		}
		switch {
		case err == nil:
			continue
		case !busy(err) || waited > f.busy:
			return err
		}
		select {
		case <-time.After(patience):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func busy(err error) bool { return errors.Is(translate(err), store.ErrBusy) }

// current reports whether the schema is the one that this binary knows.
func (f file) current(ctx context.Context) (ready bool, err error) {
	db, err := f.open(1)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := newProvider(db)
	if err != nil {
		return false, err
	}
	sources := provider.ListSources()
	latest := sources[len(sources)-1].Version
	version, err := schemaVersion(ctx, db)
	if err == nil && version > latest {
		err = store.ErrSchemaNewer
	}
	return version == latest, err
}

// schemaVersion only looks; goose would write its table.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var known bool
	err = db.QueryRowContext(ctx, `select exists (select 1 from sqlite_schema where name = ?)`, versionTable).Scan(&known)
	if err != nil || !known {
		return 0, err
	}
	err = db.QueryRowContext(ctx, `select coalesce(max(version_id), 0) from `+versionTable+` where is_applied`).Scan(&version)
	return version, err
}

// upgrade migrates while it alone has the file: in exclusive locking mode a
// connection keeps the lock of its first write until it is closed. Write-ahead
// logging is turned on here too, because the file remembers it.
func (f file) upgrade(ctx context.Context) (err error) {
	db, err := f.open(1, "locking_mode(exclusive)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `begin exclusive; commit; pragma journal_mode = wal`); err != nil {
		return err
	}
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
}
