package engine_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/sqlite/sqlitetest"
)

func openSQLite(t *testing.T) database { return sqlitetest.Open(t) }

func openPostgres(t *testing.T) (database, func(string, ...any) error) {
	t.Helper()
	_, url := pgtest.Migrated(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 4})
	return opened(t, s, err), func(statement string, args ...any) error {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(t.Context(), statement, args...)
		return errors.Join(err, conn.Close(t.Context()))
	}
}

func opened(t *testing.T, db database, err error) database {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
