package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/recoup-dev/recoup/server/internal/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// schema is the migrations that this binary knows.
var schema = store.Schema{Folder: migrationFiles, Record: "insert into schema_checksum values (%d, '%s');"}

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
	list, err := schema.Status(appliedMigrations(ctx, db)) // goose would write its table
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(list, func(m store.Migration) bool { return m.AppliedAt.IsZero() }), nil
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
	_, files, err := schema.Load()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// Migrate makes the file if there is none, and brings its schema up to date.
func Migrate(ctx context.Context, path string) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// Status returns every migration that this binary knows, and when it was
// applied. It changes nothing, and makes no file.
func Status(ctx context.Context, path string) (list store.Migrations, err error) {
	if _, missing := os.Stat(path); missing != nil {
		list, _, err = schema.Load()
		return list, err
	}
	db, err := file{path: path, busy: time.Second, driver: ownDriver}.open(1, "query_only(1)")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	list, err = schema.Status(appliedMigrations(ctx, db))
	if err != nil {
		return list, fmt.Errorf("sqlite: reading %s: %w", path, translate(err))
	}
	return list, nil
}

// appliedMigrations reads what was applied and with what text; a file without any note
// of it has none.
func appliedMigrations(ctx context.Context, db *sql.DB) (applied []store.Migration, err error) {
	var noted, summed bool
	err = db.QueryRowContext(ctx, `select count(*) filter (where name = ?) > 0, count(*) filter (where name = 'schema_checksum') > 0 from sqlite_schema`, versionTable).
		Scan(&noted, &summed)
	if err != nil || !noted {
		return nil, err
	}
	sums := "schema_checksum"
	if !summed {
		sums = "(select 0 as version, '' as sum)"
	}
	rows, err := db.QueryContext(ctx, `select version_id, tstamp, coalesce(c.sum, '') from `+versionTable+`
		left join `+sums+` c on c.version = version_id where is_applied and version_id > 0 order by 1`)
	if err != nil {
		return nil, err
	}
	return store.ScanMigrations(rows)
}
