package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// What keeps a database from being used through a pooler.
var (
	// ErrPooled is returned by [Migrate] for the address of a pooler: the lock that
	// keeps migrations apart would stay with a session that others are given.
	ErrPooled = errors.New("this is the address of a connection pooler, and migrations need a session of their own: " +
		"set --database-direct (RECOUP_DATABASE_DIRECT) to the address of PostgreSQL itself, or run recoup migrate up --database with it")

	// ErrStatementMode is returned for a pooler that gives every statement a session
	// of its own.
	ErrStatementMode = errors.New("the pooler in front of the database does not allow transactions: " +
		"set pool_mode = transaction (or session) in PgBouncer, or --database to the address of PostgreSQL itself")

	// ErrNotDirect is returned for a direct address that is none.
	ErrNotDirect = errors.New("--database-direct is the address of a connection pooler too: set it to the address of PostgreSQL itself")

	// ErrOtherDatabase is returned for a direct address at which a notification sent
	// through the pooler does not arrive.
	ErrOtherDatabase = errors.New("--database-direct is not the database that the pooler at --database leads to: no notification sent through the pooler arrived there. " +
		"Set it to the same database on the primary")
)

// poolerRefusal is what a pooler has against every connection, such as a database that it
// does not know.
func poolerRefusal(said string) error {
	return fmt.Errorf("the pooler at --database refuses connections: %s\n"+
		"Compare the database and the settings in the address with [databases] and ignore_startup_parameters in pgbouncer.ini", said)
}

// refusedParameter is the SQLSTATE of a pooler's answer to a setting that it does not
// know.
const refusedParameter = "08P01"

// pooled reports whether a pooler answers at an address. It refuses the settings that
// a session begins with, or has another number for the session than PostgreSQL has,
// because the session is not the client's.
func pooled(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == refusedParameter:
		return true, nil
	case err != nil:
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var backend uint32
	err = conn.QueryRow(ctx, "select pg_catalog.pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&backend)
	return backend != conn.PgConn().PID(), err
}

// share makes a configuration one for sessions that are shared: they begin with
// nothing that a pooler refuses, and nothing is prepared, because the next
// statement may go to another. What is returned sets the rest for one transaction.
func share(config *pgx.ConnConfig, o Options) (settings string) {
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	pgsession.Share(config)
	wanted := sessionSettings(o)
	maps.Copy(wanted, pgsession.Required())
	var values []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		values = append(values, fmt.Sprintf("('%s', '%s')", name, wanted[name]))
		delete(config.RuntimeParams, name)
	}
	return "select pg_catalog.set_config(name, value, true) from (values " + strings.Join(values, ", ") + ") as s (name, value)"
}

// checkPooler refuses a pooler that no transaction goes through.
func (s *Store) checkPooler(ctx context.Context) error {
	tx, err := s.pool.Begin(ctx)
	if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == refusedParameter {
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // before there was a statement
			return poolerRefusal(said.Message)
		}
		return ErrStatementMode
	}
	if err != nil {
		return failure("open", err)
	}
	return failure("open", tx.Rollback(ctx))
}

// directPatience is how long a notification may take from the pooler to the direct
// address.
const directPatience = 5 * time.Second

// useDirect has the store listen at an address, after it has seen that what is said
// through the pooler is heard there.
func (s *Store) useDirect(ctx context.Context, url string, o Options) error {
	config, err := parse(url)
	if err != nil {
		return fmt.Errorf("--database-direct: %w", err)
	}
	configure(config, o)
	switch shared, err := pooled(ctx, config); {
	case err != nil:
		return failure("connect to --database-direct", err)
	case shared:
		return ErrNotDirect
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return failure("connect to --database-direct", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	channel := fmt.Sprintf("recoup_%d", conn.PgConn().PID())
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return failure("listen at --database-direct", err)
	}
	if _, err := s.pool.Exec(ctx, "select pg_notify($1, '')", channel); err != nil {
		return failure("notify", err)
	}
	patience, cancel := context.WithTimeout(ctx, directPatience)
	defer cancel()
	if _, err := conn.WaitForNotification(patience); err != nil {
		return errors.Join(ErrOtherDatabase, ctx.Err())
	}
	s.hearing = config
	return nil
}

// Polls reports whether the store hears only of its own commits: it is behind a
// pooler, and knows no direct address.
func (s *Store) Polls() bool { return s.hearing == nil }
