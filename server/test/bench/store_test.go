package bench

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// database is a store with a second way in, by plain SQL, for whoever is
// compared with it.
type database interface {
	conformance.Store
	conformance.Ledger
	Groups(ctx context.Context, f store.GroupFilter, p sqldb.Page) ([]recoup.DeadLetterGroup, sqldb.Cursor, error)
	Close() error
}

// prepare makes a store ready for the default policy.
func prepare[S database](b *testing.B, s S) S {
	b.Helper()
	b.Cleanup(func() { must(b, s.Close()) })
	must(b, s.SyncTables(b.Context(), policy.Default()))
	must(b, s.SyncCodes(b.Context(), conformance.Epoch(), fault.Default().All()))
	must(b, s.EnsurePartitions(b.Context(), conformance.Epoch()))
	return s
}

// openPostgres returns a store and its owner's session on the same server.
func openPostgres(b *testing.B) (*postgres.Store, *pgx.Conn) {
	b.Helper()
	owner, app := pgtest.Migrated(b)
	conn, err := pgx.Connect(b.Context(), owner)
	must(b, err)
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	s, err := postgres.Open(b.Context(), app, postgres.Options{})
	must(b, err)
	return prepare(b, s), conn
}

// openSQLite returns a store and a connection to its file.
func openSQLite(b *testing.B) (*sqlite.Store, *sql.DB) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "recoup.db")
	s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	must(b, err)
	return prepare(b, s), connect(b, path)
}

// connect opens a file as the store does: as durably, and deleted rows overwritten.
func connect(b *testing.B, path string) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=secure_delete(1)&_pragma=cache_size(-32768)")
	must(b, err)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { must(b, db.Close()) })
	return db
}

func execute(b *testing.B, conn *pgx.Conn, statements string, args ...any) {
	b.Helper()
	if len(args) == 0 {
		args = []any{pgx.QueryExecModeSimpleProtocol}
	}
	_, err := conn.Exec(b.Context(), statements, args...)
	must(b, err)
}
