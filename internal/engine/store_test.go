package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/sqlite"
)

// emptySQLite is a migrated file, of which every test gets a copy.
var emptySQLite = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp("", "recoup-engine-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "recoup.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func openSQLite(t *testing.T) database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recoup.db")
	empty, err := emptySQLite()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	return opened(t, s, err)
}

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
