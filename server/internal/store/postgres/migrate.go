package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// schema is the migrations that this binary knows.
var schema = store.Schema{Folder: migrationFiles, Record: "insert into recoup.schema_checksum values (%d, '%s');\nselect recoup.withhold_functions();"}

//go:embed grants.sql
var grants string

//go:embed grants_app.sql
var grantsOfNodes string

const (
	// AppRole is the role that nodes connect as.
	AppRole = "recoup_app"

	// versionTable is where goose notes what it has done.
	versionTable = "recoup.schema_version"

	// A migration waits this long for a lock, then lets others through and tries
	// again: a queue behind a waiting ALTER would stop every node.
	migrationLockTimeout = "3s"
	migrationAttempts    = 20
)

// ErrNotOwner is returned by [Migrate] to a user who may not change the schema, as
// nodes may not.
var ErrNotOwner = errors.New("this user may not change the schema: run recoup migrate up as its owner")

// Migrate brings the schema up to date, and the role that nodes connect as. It
// may be run by any number of nodes at once. A schema that is newer than this
// binary is refused with [store.ErrSchemaNewer], one that was made by other
// migrations with [store.ErrSchemaForeign], and both are left alone, as is a database
// that has something else under names of ours, with an [*ObstacleError]. Each migration
// is one transaction. Through a pooler it fails with [ErrPooled]. Roles that are missing and that
// the user may not create are left out: see [store.SchemaOwner]. A user who may not create the schemas either
// gets a [*RightsError].
func Migrate(ctx context.Context, url string) error {
	config, err := parse(url)
	if err != nil {
		return err
	}
	config.RuntimeParams["lock_timeout"], config.RuntimeParams["application_name"] = migrationLockTimeout, "recoup migrate"
	switch shared, err := pooled(ctx, config); {
	case err != nil:
		return failure("migrate", err)
	case shared:
		return ErrPooled
	}
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
	if err := checkPending(ctx, db); err != nil {
		return err
	}
	var exists bool
	if err := db.QueryRowContext(ctx, "select exists (select from pg_namespace where nspname = 'recoup')").Scan(&exists); err != nil {
		return err
	}
	if !exists { // one that another role has created meanwhile is an error, and is checked again
		if _, err := db.ExecContext(ctx, "create schema recoup"); err != nil {
			return err
		}
	}
	if err := applyPending(ctx, db); err != nil {
		return err
	}
	return grant(ctx, db)
}

// lockSchema keeps others from migrating at the same time. It locks a table and takes no
// advisory lock, because any role that can connect can take those.
const lockSchema = "lock table recoup.schema_lock in exclusive mode"

// migrationTurn is how long a process waits for others that migrate.
const migrationTurn = "set local lock_timeout = '10min'; set local idle_in_transaction_session_timeout = 0; "

// applyPending applies migrations, one process after the other. The lock is held by a
// transaction of its own, because each migration is one.
func applyPending(ctx context.Context, db *sql.DB) error {
	var exists bool
	if err := db.QueryRowContext(ctx, "select to_regclass('recoup.schema_lock') is not null").Scan(&exists); err != nil {
		return err
	}
	if !exists {
		if _, err := db.ExecContext(ctx, "create table if not exists recoup.schema_lock ()"); err != nil {
			return err
		}
	}
	lock, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Rollback() }() // it has changed nothing
	if _, err := lock.ExecContext(ctx, migrationTurn+lockSchema); err != nil {
		return err
	}
	_, files, err := schema.Load()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// grant runs the scripts in one transaction, and under a lock, because two that grant the same at
// once collide. Without the role of nodes there is nothing to grant to it.
func grant(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driver any) error {
		session, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is not a connection of pgx", driver)
		}
		return pgx.BeginFunc(ctx, session.Conn(), func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, lockSchema+"; "+grants, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			var nodes bool
			if err := tx.QueryRow(ctx, "select to_regrole($1) is not null", AppRole).Scan(&nodes); err != nil || !nodes {
				return err
			}
			_, err := tx.Exec(ctx, grantsOfNodes, pgx.QueryExecModeSimpleProtocol)
			return err
		})
	})
}

// Status returns every migration that this binary knows, and when it was
// applied. It changes nothing. Of a schema whose owner would gain rights of the user, nothing is
// read, and a [*pgsession.OwnerError] is returned. SchemaOwner is the owner that the user trusts;
// empty: none was stated.
func Status(ctx context.Context, url, schemaOwner string) (list store.Migrations, err error) {
	err = readAt(ctx, url, func(db reader) error {
		owner, err := pgsession.ScanOwner(db.QueryRowContext(ctx, pgsession.OwnerQuery))
		if err == nil {
			err = owner.Check(schemaOwner)
		}
		if err != nil {
			return err
		}
		if owner.Schema == "" { // one that is created meanwhile was not checked
			list, err = schema.Status(nil, nil)
			return err
		}
		list, err = schema.Status(appliedMigrations(ctx, db))
		return err
	})
	return list, failure("read the schema's version", err)
}

// checkSchema refuses a schema that is not the one this binary knows. One that is newer by
// what this binary can work beside is as good. Of one that did not exist when its owner was
// checked, nothing is read.
func checkSchema(ctx context.Context, db *sql.DB, exists bool) error {
	own, _, err := schema.Load()
	if err != nil {
		return failure("open", err)
	}
	var applied []store.Migration
	if exists {
		err = readPlainly(ctx, db, func(db reader) (err error) {
			applied, err = appliedMigrations(ctx, db)
			return err
		})
	}
	list, err := schema.Status(own.Beside(applied), err)
	if err != nil {
		return failure("open", err)
	}
	pending := slices.IndexFunc(list, func(m store.Migration) bool { return m.AppliedAt.IsZero() })
	if pending < 0 {
		return nil
	}
	return fmt.Errorf("%w: it lacks migration %d of %d: run recoup migrate up as the owner of the schema",
		store.ErrSchemaOlder, list[pending].Version, list.Latest())
}

// appliedMigrations reads what was applied and with what text; a database without any
// note of it has none.
func appliedMigrations(ctx context.Context, db reader) ([]store.Migration, error) {
	if err := refuse(checkPlain(ctx, db, versionTables)); err != nil {
		return nil, err
	}
	applied, err := notes(ctx, db, versionTable, "select version_id, tstamp, '' from recoup.schema_version where is_applied and version_id > 0 order by 1")
	if err != nil {
		return nil, err
	}
	sums, err := notes(ctx, db, "recoup.schema_checksum", "select version, now(), sum from recoup.schema_checksum")
	if err != nil {
		return nil, err
	}
	needs, err := notes(ctx, db, "recoup.schema_needs", "select version, now(), needs::text from recoup.schema_needs")
	for i := range applied {
		for _, s := range sums {
			if s.Version == applied[i].Version {
				applied[i].Sum = s.Sum
			}
		}
		for _, n := range needs {
			if n.Version == applied[i].Version {
				applied[i].Needs, _ = strconv.ParseInt(n.Sum, 10, 64)
			}
		}
	}
	return applied, err
}

// notes reads a table of what was applied, if there is one. Another of that name is none.
func notes(ctx context.Context, db reader, table, query string) (list []store.Migration, err error) {
	var exists bool
	err = db.QueryRowContext(ctx, "select exists (select from pg_attribute where attrelid = to_regclass($1)::oid and attname in ('version_id', 'version'))", table).Scan(&exists)
	if err != nil || !exists {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return store.ScanMigrations(rows)
}
