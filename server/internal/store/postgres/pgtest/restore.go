package pgtest

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// StartDumpable starts a server that a pg_dump of this machine can read: one of the tested version,
// or, if every pg_dump is older than that, one of the version that the newest pg_dump is of.
func StartDumpable(t testing.TB, o Options) *Server {
	t.Helper()
	found, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	program, err := found.beside("pg_dump")
	if err != nil {
		t.Fatal(err)
	}
	if versionOf(t, program) < versionOf(t, found.postgres) {
		found = in(filepath.Dir(program))
	}
	return startOf(t, found, o)
}

func startOf(t testing.TB, found programs, o Options) *Server {
	t.Helper()
	s, err := initialised(found, o)
	if err == nil {
		err = s.first()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.removeAfter(t)
	return s
}

// versionOf returns the major version of a program.
func versionOf(t testing.TB, program string) int {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), program, "--version").Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return majorOf(string(said))
}

// Restore dumps a database with pg_dump and restores it into an empty one with psql, both as
// superuser. It returns what psql says of statements that fail.
func Restore(t testing.TB, from, to string, flags ...string) (failed string) {
	t.Helper()
	found, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	psql, err := found.beside("psql")
	if err != nil {
		t.Fatal(err)
	}
	text := dump(t, dumper(t, from), append(flags, "--dbname", asSuperuser(t, from))...)
	cmd := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "--output", "/dev/null", "--dbname", asSuperuser(t, to))
	var said strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("psql: %v\n%s", err, said.String())
	}
	return said.String()
}

// asSuperuser is the URL of a database for the server's superuser.
func asSuperuser(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(superuser)
	return u.String()
}

// Copy returns the URL of a copy of a database on the same server, as branches are made, for the
// owner. Nobody may be connected to the original.
func (s *Server) Copy(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return s.url(owner, s.create(t, "template "+strings.TrimPrefix(u.Path, "/")))
}

// StartUpgradable starts a server of the newest version that has a pg_upgrade.
func StartUpgradable(t testing.TB, o Options) *Server {
	t.Helper()
	found, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	program, err := found.beside("pg_upgrade")
	if err != nil {
		t.Fatal(err)
	}
	return startOf(t, in(filepath.Dir(program)), o)
}

// Upgrade stops the server and moves all of its databases to a new one with pg_upgrade. It returns
// the new server and the address that a database has there.
func (s *Server) Upgrade(t testing.TB, address string) (*Server, string) {
	t.Helper()
	s.Stop()
	next, err := initialised(s.programs, s.options)
	if err != nil {
		t.Fatal(err)
	}
	next.removeAfter(t)
	bin := filepath.Dir(s.programs.postgres)
	cmd := next.command(filepath.Join(bin, "pg_upgrade"), "--old-bindir", bin, "--new-bindir", bin, "--old-datadir", s.data(), "--new-datadir", next.data(),
		"--username", superuser, "--socketdir", next.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		logs, _ := exec.Command("sh", "-c", "find "+next.dir+" -name '*.log' | xargs tail -n 30").CombinedOutput()
		t.Fatalf("pg_upgrade: %v\n%s\n%s", err, out, logs)
	}
	if err := next.Restart(); err != nil {
		t.Fatal(err)
	}
	return next, strings.Replace(address, s.dir, next.dir, 1)
}
