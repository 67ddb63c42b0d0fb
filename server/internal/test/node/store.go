package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
)

// Store is what the services need of a store, and what tests look at.
type Store interface {
	engine.Store
	scheduler.Store
	scheduler.Keeper
	store.AuditWriter
	SQL() sqldb.DB
	deadletter.Store
	deadletter.KeyStore
	notify.Store
	alert.Store

	store.TableSyncer
	store.CodeRegistry
	store.EventWriter
	store.EventReader
	store.ProcessedWriter
	store.AlertAdmin
	store.NoticeReader
	store.PendingReader
	store.AuditReader
	store.PolicyWriter
	store.OutboxGauge

	UseClock(clock func() time.Time)
	Close() error
}

var (
	_ Store = (*postgres.Store)(nil)
	_ Store = (*sqlite.Store)(nil)
)

// Everywhere runs a test on each kind of store, made ready.
func Everywhere(t *testing.T, test func(t *testing.T, db Store)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, _ := Postgres(t)
		test(t, db)
	})
}

// SQLite opens a fresh file that is ready.
func SQLite(t testing.TB) *sqlite.Store { return sqlitetest.OpenFile(t, File(t)) }

// File makes a fresh file that is ready.
func File(t testing.TB) string { return file.Copy(t, t.TempDir()) }

// Postgres opens a fresh database that is ready, and returns its address.
func Postgres(t testing.TB) (s *postgres.Store, url string) {
	_, url = database.Clone(t)
	return pgtest.OpenURL(t, url), url
}

// PostgresAt opens a fresh database that is ready on a server of the test's own.
func PostgresAt(t testing.TB, server *pgtest.Server) (s *postgres.Store, url string) {
	t.Helper()
	_, url = server.Migrated(t)
	s = pgtest.OpenURL(t, url)
	if err := prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s, url
}

// PostgresOwned is [Postgres] with the address of the database's owner.
func PostgresOwned(t testing.TB) (s *postgres.Store, ownerURL string) {
	ownerURL, url := database.Clone(t)
	return pgtest.OpenURL(t, url), ownerURL
}

// What makes a store ready takes longer than most tests, so it is done once.
var (
	file = sqlitetest.NewTemplate(func(ctx context.Context, path string) error {
		s, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		return errors.Join(prepare(ctx, s), s.Close())
	})
	database = pgtest.NewTemplate(func(ctx context.Context, url string) error {
		s, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 4})
		if err != nil {
			return err
		}
		return errors.Join(prepare(ctx, s), s.Close())
	})
)

// prepare does to a store what a node does when it starts: it puts the default
// policy and the registered codes in force, and makes room for what comes from
// [Epoch] on.
func prepare(ctx context.Context, db Store) error {
	db.UseClock(func() time.Time { return Epoch })
	p := policy.Default()
	return errors.Join(db.SyncTables(ctx, p), db.SyncCodes(ctx, Epoch, fault.Default().All()),
		db.EnsurePartitions(ctx, Epoch), db.EnsureEventPartitions(ctx, Epoch, p.Ledger.EventRetention))
}
