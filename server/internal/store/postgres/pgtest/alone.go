package pgtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Alone returns when all other sessions of a database are over: the server goes
// on with what a dead client had asked for last, and its end decides whether
// that was done.
func Alone(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for others := -1; others != 0; {
		err := conn.QueryRow(ctx, `select count(*) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`).Scan(&others)
		if err != nil {
			return fmt.Errorf("wait for sessions to end: %w", err)
		}
	}
	return nil
}
