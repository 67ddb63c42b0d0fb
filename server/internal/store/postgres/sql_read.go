package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// reader reads the database, in a transaction or not.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readAt calls do with a transaction at an address, which may be that of a pooler. A pooler that
// refuses settings as startup parameters is asked without them: [readPlainly] sets them.
func readAt(ctx context.Context, url string, do func(reader) error) error {
	config, err := parse(url)
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared: a pooler may answer
	err = readWith(ctx, config, do)
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || said.Code != refusedParameter {
		return err
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !connecting {
		return ErrStatementMode
	}
	pgsession.Share(config)
	return readWith(ctx, config, do)
}

func readWith(ctx context.Context, config *pgx.ConnConfig, do func(reader) error) error {
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	return readPlainly(ctx, db, do)
}

// readPlainly calls do with a transaction that only reads one snapshot. Its role and search path are
// those of [pgsession.Start], also in a session of a pooler that ignores startup parameters.
func readPlainly(ctx context.Context, db *sql.DB, do func(reader) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	if _, err := tx.ExecContext(ctx, pgsession.SetLocal()); err != nil {
		return err
	}
	return do(tx)
}
