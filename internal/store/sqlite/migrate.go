package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time // zero: not yet
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
func Status(ctx context.Context, path string) ([]Migration, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	applied := map[int64]time.Time{}
	if _, err := os.Stat(path); err == nil {
		if applied, err = appliedMigrations(ctx, path); err != nil {
			return nil, fmt.Errorf("sqlite: reading %s: %w", path, translate(err))
		}
	}
	var list []Migration
	for _, file := range names {
		number, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, Migration{version, name, applied[version]})
	}
	return list, nil
}

// appliedMigrations reads when each migration was applied.
func appliedMigrations(ctx context.Context, path string) (at map[int64]time.Time, err error) {
	db, err := file{path: path, busy: time.Second, driver: ownDriver}.open(1, "query_only(1)")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	at = map[int64]time.Time{}
	if version, err := schemaVersion(ctx, db); version == 0 || err != nil {
		return at, err
	}
	rows, err := db.QueryContext(ctx, `select version_id, strftime('%s', tstamp) from `+versionTable+` where is_applied`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version, seconds int64
		if err := rows.Scan(&version, &seconds); err != nil {
			return nil, err
		}
		at[version] = time.Unix(seconds, 0).UTC()
	}
	return at, rows.Err()
}
