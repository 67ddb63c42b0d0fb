package pgsession

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// AdopterConnections is how many connections the login role of an adoption can have: code of the
// table's owner in one of them can ignore that it is cancelled. A role cannot lift its own limit.
const AdopterConnections = 5

// endPatience is how long ending a backend may take.
const endPatience = 5 * time.Second

// End ends the backend of a connection whose caller has given up, from a second connection of the
// same role. Code in a session can catch a cancelled query and go on; it cannot catch this. It does
// nothing while the connection is open. Its own failure changes nothing: the number of connections
// of the role has a limit.
func End(ctx context.Context, conn *pgx.Conn) {
	if !conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	second, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return
	}
	_, _ = second.Exec(ctx, "select pg_catalog.pg_terminate_backend($1)", pgx.QueryExecModeExec, int32(conn.PgConn().PID()))
	_ = second.Close(ctx)
}
