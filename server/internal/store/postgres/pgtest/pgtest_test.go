package pgtest_test

import (
	"context"
	"os"
	program "os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t testing.TB, url, sql string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func query[T any](t testing.TB, url, sql string) T {
	t.Helper()
	var v T
	if err := connect(t, url).QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			if n := query[int](t, url, "select count(*) from pg_class where relname = 'mine'"); n != 0 {
				t.Errorf("the database is not empty")
			}
			exec(t, url, "create table mine (n int)")
		})
	}
}

func TestOwnerIsNoSuperuser(t *testing.T) {
	t.Parallel()
	if query[bool](t, pgtest.New(t), "select rolsuper from pg_roles where rolname = current_user") {
		t.Error("what works here would not work on a managed server")
	}
}

func TestMigrated(t *testing.T) {
	t.Parallel()
	owner, app := pgtest.Migrated(t)
	if got := query[string](t, app, "select current_user"); got != "recoup_app" {
		t.Errorf("nodes connect as %s", got)
	}
	if got := query[string](t, owner, "select tableowner from pg_tables where schemaname = 'recoup' and tablename = 'error'"); got != "recoup_owner" {
		t.Errorf("the schema is owned by %s", got)
	}
}

// What was committed survives a kill of a durable server.
func TestKill(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	url := s.New(t)
	exec(t, url, "create table kept (n int); insert into kept values (7)")
	for _, end := range []func(){s.Kill, s.Stop} {
		end()
		if _, err := pgx.Connect(t.Context(), url); err == nil {
			t.Fatal("the server still answers")
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		if n := query[int](t, url, "select n from kept"); n != 7 {
			t.Errorf("got %d", n)
		}
	}
}

// However a test process ends, its server and its files go with it.
func TestServerGoesWithItsProcess(t *testing.T) {
	if report := os.Getenv("PGTEST_CHILD"); report != "" {
		child(t, report)
	}
	t.Parallel()
	report := filepath.Join(t.TempDir(), "dir")
	cmd := program.Command(os.Args[0], "-test.run=^TestServerGoesWithItsProcess$")
	cmd.Env = append(os.Environ(), "PGTEST_CHILD="+report)
	if err := cmd.Run(); err == nil {
		t.Fatal("the child was to be killed")
	}
	dir, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(string(dir)); os.IsNotExist(err) {
			return
		}
	}
}

// child starts a server, says where, and is killed.
func child(t *testing.T, report string) {
	config, err := pgx.ParseConfig(pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(report, []byte(config.Host), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	t.Fatal("still alive", err)
}
