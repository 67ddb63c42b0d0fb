package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Standby starts a streaming standby of the server, a copy of its files that follows
// its log over its socket. It is removed when the test ends.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby := &Server{options: s.options, programs: s.programs, as: s.as}
	if err := standby.prepare(func() error { return standby.copyFrom(s) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		standby.signal(syscall.SIGQUIT)
		if err := standby.undertaker.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := standby.Restart(); err != nil {
		t.Fatal(err)
	}
	return standby
}

// copyFrom copies the files of a server that runs, and has them follow it.
func (s *Server) copyFrom(primary *Server) error {
	program, err := s.programs.beside("pg_basebackup")
	if err != nil {
		return err
	}
	out, err := s.command(program, "--pgdata", s.data(), "--host", primary.dir, "--username", superuser,
		"--checkpoint", "fast", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgtest: pg_basebackup: %w\n%s", err, out)
	}
	return s.follow(primary)
}

// follow makes the copied files those of a standby. A newer pg_basebackup writes connection
// options that an older server does not accept, so it is not left to do that.
func (s *Server) follow(primary *Server) error {
	settings, err := os.OpenFile(filepath.Join(s.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	_, err = fmt.Fprintf(settings, "primary_conninfo = 'host=%s user=%s'\n", primary.dir, superuser)
	if err = errors.Join(err, settings.Close()); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	signal := filepath.Join(s.data(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if s.as == nil {
		return nil
	}
	return os.Chown(signal, int(s.as.Uid), int(s.as.Gid))
}

// Promote makes a standby a primary, and returns when it takes writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Admin(t, "select pg_promote()")
}

// Or returns an address of the server as one of several hosts.
func (s *Server) Or(t testing.TB, address string, others ...*Server) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	for _, other := range others {
		values.Set("host", values.Get("host")+","+other.dir)
	}
	u.RawQuery = values.Encode()
	return u.String()
}

// Admin runs statements as the server's superuser, in no database of a test.
func (s *Server) Admin(t testing.TB, statements ...string) {
	t.Helper()
	if err := s.admin(context.WithoutCancel(t.Context()), statements...); err != nil {
		t.Fatal(err)
	}
}
