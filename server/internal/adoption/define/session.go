package define

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// Session is a connection to a database, with the rights of the user that its URL names.
type Session struct {
	*pgx.Conn
	Path []string // the schemas of the user's own search path, for names that people write
}

// Connect opens a connection of its own to a migrated database. The session begins with fixed
// settings: neither the database nor a role can set another search path or another role for it. The
// address of a pooler is refused before anything is changed.
func Connect(ctx context.Context, url string) (*Session, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, fmt.Errorf("--database %s is no PostgreSQL, and only its tables can be adopted: give --database postgres://OWNER@HOST/NAME", url)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "recoup adopt"
	given := config.Copy()
	pgsession.Start(config)
	config.RuntimeParams["statement_timeout"], config.RuntimeParams["idle_in_transaction_session_timeout"] = "0", "0" // steps have limits of their own
	conn, err := pgx.ConnectConfig(ctx, config)
	if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == refusedParameter {
		return nil, errPooled
	}
	if err != nil {
		return nil, err
	}
	s := &Session{Conn: conn}
	if err = checkSession(ctx, conn); err == nil {
		s.Path, err = readPath(ctx, given)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// refusedParameter is the state of a pooler's answer to a setting that it does not know.
const refusedParameter = "08P01"

// readPath reads the schemas of the user's own search path, on a connection that is used for nothing
// else. The statement calls one function by its full name.
func readPath(ctx context.Context, config *pgx.ConnConfig) (path []string, err error) {
	config.RuntimeParams["role"] = "none"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, "select pg_catalog.current_schemas(false)").Scan(&path)
	return path, err
}

// errPooled is returned for the address of a pooler. Through one, the settings of a session apply to
// some statements only, and stay with a session that others are given.
var errPooled = errors.New("this is the address of a connection pooler, and adoptions need a session of their own: " +
	"set --database-direct (RECOUP_DATABASE_DIRECT) to the address of PostgreSQL itself")

// checkSession checks that the session is one of PostgreSQL itself, and that the database is migrated.
func checkSession(ctx context.Context, conn *pgx.Conn) error {
	var backend uint32
	if err := conn.QueryRow(ctx, "select pg_catalog.pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&backend); err != nil {
		return err
	}
	if backend != conn.PgConn().PID() {
		return errPooled
	}
	var migrated bool
	err := conn.QueryRow(ctx, "select to_regclass('recoup.adoption') is not null").Scan(&migrated)
	if err == nil && !migrated {
		return errors.New("the schema of Recoup in this database is missing, or older than adoptions: run recoup migrate up first")
	}
	return err
}
