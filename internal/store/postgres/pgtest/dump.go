package pgtest

import (
	"os/exec"
	"regexp"
	"testing"
)

// Dump returns a database as SQL, without owners and grants.
func Dump(t testing.TB, url string) string {
	t.Helper()
	return dump(t, "--inserts", "--no-owner", "--no-privileges", url)
}

// tokens are what newer versions of pg_dump write into every dump anew.
var tokens = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// DumpSchema returns all definitions of a database as SQL, with owners and grants.
func DumpSchema(t testing.TB, url string) string {
	t.Helper()
	return tokens.ReplaceAllString(dump(t, "--schema-only", url), "")
}

func dump(t testing.TB, args ...string) string {
	t.Helper()
	found, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	program, err := found.beside("pg_dump")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}
