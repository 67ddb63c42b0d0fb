// Package adoption is 'recoup adopt' and 'recoup release': existing tables of a
// PostgreSQL database, governed where they are, and given back.
package adoption

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"recoup/internal/adopt"
	"recoup/internal/app"
	"recoup/internal/cli/command"
	"recoup/internal/pgsession"
	"recoup/retry"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{adoptCommand(streams), releaseCommand(streams)}
}

// patience is how long a step tries to get its lock.
const patience = 10 * time.Minute

// session is a connection to the database, with the rights of the user that the URL names.
type session struct {
	*pgx.Conn
	path  []string // the schemas of the user's own search path, for names that people write
	owner string   // of the schema recoup, if it was stated
}

// connect opens a connection of its own to the database. Where --database is a pooler's, it is the
// one behind it. The session begins with fixed settings: neither the database nor a role can set
// another search path or another role for it.
func connect(ctx context.Context, options app.Options) (*session, error) {
	url := options.Database
	if options.Direct != "" {
		url = options.Direct
	}
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, fmt.Errorf("--database %s is no PostgreSQL, and only its tables can be adopted: give --database postgres://OWNER@HOST/NAME", url)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, command.UsageError{Err: err}
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
	s := &session{Conn: conn, owner: options.SchemaOwner}
	if err = prepare(ctx, conn); err == nil {
		s.path, err = readPath(ctx, given)
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

// prepare checks that the session is one of PostgreSQL itself, and that the database is migrated.
func prepare(ctx context.Context, conn *pgx.Conn) error {
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

// runner runs steps and says what happens, for people.
func runner(s *command.Session, conn *session, adoption string) *adopt.Runner {
	sleep := s.Sleep
	if sleep == nil {
		sleep = retry.Sleep
	}
	return &adopt.Runner{
		Conn: conn.Conn, Adoption: adoption, Actor: conn.Config().User, Patience: patience, Path: conn.path, SchemaOwner: conn.owner,
		Sleep: sleep, Random: rand.Float64, Now: s.Clock, Report: reporter(s),
	}
}

// reporter prints a line for each step, and one when a step begins to wait.
func reporter(s *command.Session) func(adopt.Progress) {
	advance, end := s.ShowProgress("pages")
	waiting := ""
	return func(p adopt.Progress) {
		switch {
		case p.Of > 0:
			advance(int(p.Rows), int(p.Of))
			if p.Rows >= p.Of {
				end()
			}
		case p.Waits > 0 && waiting != p.Step:
			waiting = p.Step
			if p.Blocker == "" {
				p.Blocker = "somebody"
			}
			s.Notef("%s: waits for a lock held by %s", p.Step, p.Blocker)
		case p.Note != "":
			s.Notef("%s: %s", p.Step, p.Note)
		case p.Done:
			s.Notef("%s: done", p.Step)
		}
	}
}
