// Package pgtest gives tests a real PostgreSQL of their own. The server is
// private to the test process: it listens on a Unix socket in a temporary
// directory, is started by the first test that asks for it, and goes away with
// the process, so parallel tests and parallel packages cannot disturb each
// other.
//
// The programs are taken from PATH or from where Debian puts them. If they are
// missing, the test fails and says what to install: it never passes by not
// running.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// owner is the role that owns databases. As on a managed server, it may make
// databases and roles and is no superuser.
const owner = "recoup_owner"

// shared returns the server of this process, which no test stops.
var shared = sync.OnceValues(func() (*Server, error) { return start(Options{Durable: Durable()}) })

// Durable reports whether the server of this process keeps fsync on and its files on
// disk, which RECOUP_FSYNC=on asks for: benchmarks say so.
func Durable() bool { return os.Getenv("RECOUP_FSYNC") == "on" }

var databases atomic.Int64

// New returns the URL of a fresh, empty database, dropped when the test ends.
// It connects as the database's owner.
func New(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.New(t)
}

// Migrated returns two URLs of a fresh, migrated database: one connects as the
// owner of its schema, the other as recoup_app, as nodes do.
func Migrated(t testing.TB) (ownerURL, appURL string) {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.Migrated(t)
}

// Open opens a fresh, migrated database as a node does, with few connections. It is
// closed with the test.
func Open(t testing.TB) *postgres.Store {
	t.Helper()
	_, url := Migrated(t)
	return OpenURL(t, url)
}

// OpenURL opens a database as a node does, with few connections. It is closed with
// the test.
func OpenURL(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Migrated returns two URLs of a fresh, migrated database on this server.
func (s *Server) Migrated(t testing.TB) (ownerURL, appURL string) {
	t.Helper()
	return s.clone(t, s.template)
}

func (s *Server) clone(t testing.TB, template func() (string, error)) (ownerURL, appURL string) {
	t.Helper()
	source, err := template()
	if err != nil {
		t.Fatal(err)
	}
	name := s.create(t, "template "+source)
	return s.url(owner, name), s.url(postgres.AppRole, name)
}

// makeTemplate makes a migrated database that others are cloned from.
func (s *Server) makeTemplate() (string, error) {
	const name = "recoup_template"
	if err := s.admin(context.Background(), "create database "+name+" owner "+owner); err != nil {
		return "", err
	}
	if err := postgres.Migrate(context.Background(), s.url(owner, name)); err != nil {
		return "", err
	}
	return name, tolerate(context.Background(), s.url(owner, name), forever)
}

// Template is a migrated database that is filled once and cloned for every test.
type Template func() (string, error)

// NewTemplate is what fill makes of a migrated database, as a node's user.
func NewTemplate(fill func(ctx context.Context, url string) error) Template {
	return sync.OnceValues(func() (string, error) {
		s, err := shared()
		if err != nil {
			return "", err
		}
		source, err := s.template()
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("template_%d", databases.Add(1))
		if err := s.admin(context.Background(), fmt.Sprintf("create database %s owner %s template %s", name, owner, source)); err != nil {
			return "", err
		}
		return name, fill(context.Background(), s.url(postgres.AppRole, name))
	})
}

// Clone returns two URLs of a fresh copy: one for the owner of its schema, the other
// for nodes.
func (m Template) Clone(t testing.TB) (ownerURL, appURL string) {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.clone(t, m)
}

// New returns the URL of a fresh, empty database on this server.
func (s *Server) New(t testing.TB) string {
	t.Helper()
	return s.url(owner, s.create(t, ""))
}

// create makes a database and drops it when the test ends.
func (s *Server) create(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if err := s.admin(t.Context(), strings.Join([]string{"create database", name, "owner", owner, from}, " ")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.running() {
			return
		}
		if err := s.admin(context.Background(), "drop database "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return name
}

func (s *Server) url(role, database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&sslmode=disable", role, database, s.dir)
}

// admin runs statements as the server's superuser.
func (s *Server) admin(ctx context.Context, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, s.url(superuser, "postgres"))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("pgtest: %s: %w", sql, err)
		}
	}
	return nil
}
