package pgtest

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Dump returns a database as SQL, without owners and grants. If every pg_dump of this
// machine is older than the server it is text with the same contents, which cannot be
// restored.
func Dump(t testing.TB, url string) string {
	t.Helper()
	if dumper(t, url) != "" {
		return DumpSQL(t, url)
	}
	return describe(t, url, true)
}

// DumpSQL returns a database as SQL that can be restored, without owners and grants. The
// test is skipped if every pg_dump of this machine is older than the server.
func DumpSQL(t testing.TB, url string) string {
	t.Helper()
	program := dumper(t, url)
	if program == "" {
		t.Skip("no pg_dump of this machine can read this server: put one of its major version beside the server's programs")
	}
	return dump(t, program, "--inserts", "--no-owner", "--no-privileges", url)
}

// tokens are what newer versions of pg_dump write into every dump anew.
var tokens = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// DumpSchema returns all definitions of a database, with owners and grants: as SQL, or, if
// every pg_dump of this machine is older than the server, as text.
func DumpSchema(t testing.TB, url string) string {
	t.Helper()
	if program := dumper(t, url); program != "" {
		return tokens.ReplaceAllString(dump(t, program, "--schema-only", url), "")
	}
	return describe(t, url, false)
}

func dump(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}

// dumper returns a pg_dump that can read the server, or nothing: pg_dump refuses servers
// that are newer than itself, and packages that hold no more than a server have none.
func dumper(t testing.TB, url string) string {
	t.Helper()
	found, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	program, err := found.beside("pg_dump")
	if err != nil {
		return ""
	}
	said, err := exec.CommandContext(t.Context(), program, "--version").Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	conn := connect(t, url)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if majorOf(string(said)) < majorOf(conn.PgConn().ParameterStatus("server_version")) {
		return ""
	}
	return program
}

var number = regexp.MustCompile(`\d+`)

// majorOf returns the first number of a version.
func majorOf(version string) int {
	n, _ := strconv.Atoi(number.FindString(version))
	return n
}

//go:embed catalog.sql
var catalog string

// describe returns the definitions of a database as lines of text, and its rows, if asked.
func describe(t testing.TB, url string, rows bool) string {
	t.Helper()
	conn := connect(t, url)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	lines := texts(t, conn, catalog)
	if !rows {
		return strings.Join(lines, "\n")
	}
	tables := texts(t, conn, `select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`)
	for _, table := range tables {
		for _, row := range texts(t, conn, fmt.Sprintf("select r::text from %s r order by 1", table)) {
			lines = append(lines, table+" "+row)
		}
	}
	return strings.Join(lines, "\n")
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// texts returns the one column of an answer.
func texts(t testing.TB, conn *pgx.Conn, question string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return list
}
