package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"recoup/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed grants.sql
var grants string

const (
	// AppRole is the role that nodes connect as.
	AppRole = "recoup_app"

	// versionTable is where goose notes what it has done.
	versionTable = "recoup.schema_version"

	// migrationLock is ours alone, so that users of goose can have theirs.
	migrationLock = 20260202

	// A migration waits this long for a lock, then lets others through and tries
	// again: a queue behind a waiting ALTER would stop every node.
	migrationLockTimeout = "3s"
	migrationAttempts    = 20
)

// ErrNoAppRole is returned by [Migrate] when the schema is up to date, but the
// role that nodes connect as is missing and may not be made by this user.
var ErrNoAppRole = errors.New("the role " + AppRole + " does not exist and this user may not create it: " +
	"run CREATE ROLE " + AppRole + " LOGIN as an administrator and migrate again")

// ErrNotOwner is returned by [Migrate] to a user who may not change the schema, as
// nodes may not.
var ErrNotOwner = errors.New("this user may not change the schema: run recoup migrate up as its owner")

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time // zero: not yet
}

// Migrate brings the schema up to date, and the role that nodes connect as. It
// may be run by any number of nodes at once. A schema that is newer than this
// binary is refused with [store.ErrSchemaNewer] and left alone.
func Migrate(ctx context.Context, url string) error {
	config, err := parse(url)
	if err != nil {
		return err
	}
	config.RuntimeParams["lock_timeout"] = migrationLockTimeout
	config.RuntimeParams["application_name"] = "recoup migrate"
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	for attempt := 1; ; attempt++ {
		err := migrate(ctx, db)
		if state(err) == insufficientPrivilege {
			return ErrNotOwner
		}
		if attempt == migrationAttempts || !busy(err) && !racing(err) {
			return failure("migrate", err)
		}
	}
}

func migrate(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "create schema if not exists recoup"); err != nil {
		return err
	}
	provider, err := provider(db)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if err := compare(current, target); errors.Is(err, store.ErrSchemaNewer) {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return err
	}
	return grant(ctx, db)
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 600))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
}

// grant runs the whole script as one transaction, and under a lock, because two
// that grant the same at once collide.
func grant(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(driver any) error {
		session, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is not a connection of pgx", driver)
		}
		script := fmt.Sprintf("select pg_advisory_xact_lock(%d, 0); %s", migrationLock+1, grants)
		_, err := session.Conn().Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if state(err) == insufficientPrivilege {
		return ErrNoAppRole
	}
	return err
}

// compare tells what is wrong if the schema is not the one this binary knows.
func compare(current, target int64) error {
	switch {
	case current > target:
		return fmt.Errorf("%w: it is at version %d, this binary knows %d: upgrade the binary", store.ErrSchemaNewer, current, target)
	case current < target:
		return fmt.Errorf("%w: it is at version %d, this binary needs %d: run recoup migrate up as the owner of the schema", store.ErrSchemaOlder, current, target)
	}
	return nil
}

// latestMigration is the version of the schema that this binary knows.
func latestMigration() (version int64) {
	names, _ := fs.Glob(migrations, "migrations/*.sql")
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			version = max(version, n)
		}
	}
	return version
}

// Status returns every migration that this binary knows, and when it was
// applied. It changes nothing.
func Status(ctx context.Context, url string) ([]Migration, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	provider, err := provider(db)
	if err != nil {
		return nil, err
	}
	applied, err := appliedMigrations(ctx, db)
	if err != nil {
		return nil, failure("read the schema's version", err)
	}
	var list []Migration
	for _, source := range provider.ListSources() {
		list = append(list, Migration{source.Version, source.Path, applied[source.Version]})
		delete(applied, source.Version)
	}
	for version := range applied {
		if err := compare(version, list[len(list)-1].Version); err != nil {
			return list, err
		}
	}
	return list, nil
}

// appliedMigrations reads goose's notes; a database without any has none.
func appliedMigrations(ctx context.Context, db *sql.DB) (map[int64]time.Time, error) {
	applied := map[int64]time.Time{}
	var exists bool
	err := db.QueryRowContext(ctx, "select to_regclass($1) is not null", versionTable).Scan(&exists)
	if err != nil || !exists {
		return applied, err
	}
	rows, err := db.QueryContext(ctx, "select version_id, tstamp from recoup.schema_version where is_applied and version_id > 0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var version int64
		var at time.Time
		if err := rows.Scan(&version, &at); err != nil {
			return nil, err
		}
		applied[version] = at.UTC()
	}
	return applied, rows.Err()
}
